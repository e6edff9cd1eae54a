"""Run functions of ours on files from strangers, each in a confined process of its own.

A few bytes can make a parser take any amount of time and memory, or do worse. Only that process
suffers, and its answer is read as plain data: nothing in it is unpickled.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.errors import GradeError
from grader.submission.source import escape_undecodable as as_text
from grader.wire.levels import Confinement, Limits
from grader.worker.confine import readable_paths, without_own_package
from grader.worker.walls import landlock, libc, limits, privileges, seccomp

MAX_MEMORY_MIB = 512  # for each call
MAX_CPU_S = 10  # for each call
MAX_WALL_S = 300.0  # for each call
MAX_ANSWER_BYTES = 32 << 20
MAX_REFUSAL_CHARS = 5000
MODULE_NAME_BYTES = 100  # to which a module's name is padded

_is_bounded = False  # whether this process is one that was forked for a call

_T = TypeVar("_T")


def run_bounded(
    name: str, function: partial[_T], result_type: type[_T], paths_to_read: Sequence[Path] = ()
) -> _T:
    """Run a function in another process and return its result; its side effects stay there.

    Args:
        name: The name of the file that it reads, for messages.
        function: The call, which must be picklable.
        result_type: The type of the result, as ``msgspec`` knows it; not text, which means a
            refusal.
        paths_to_read: The files and folders that the function opens.

    Raises:
        GradeError: The function raised it, or took more time or memory than it may.
    """
    if _is_bounded:
        return function()
    try:
        answer = msgspec.msgpack.decode(_ask(function, paths_to_read), type=result_type | str)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise GradeError(
            f"`{name}` cannot be read within {MAX_CPU_S} s and {MAX_MEMORY_MIB} MiB; a Python file "
            "that holds nothing else is read at once"
        ) from None
    if isinstance(answer, str):
        raise GradeError(answer[:MAX_REFUSAL_CHARS])
    return answer


def _ask(function: partial[_T], paths_to_read: Sequence[Path]) -> bytes:
    """Send a call to a process forked for it, and return the bytes that the process answers."""
    ours, theirs = socket.socketpair()
    late = threading.Timer(MAX_WALL_S, ours.shutdown, [socket.SHUT_RDWR])
    with ours:
        with theirs:
            _hand_over(theirs, function.func.__module__)
        late.start()
        try:
            ours.sendall(pickle.dumps((function, paths_to_read)))
            ours.shutdown(socket.SHUT_WR)
            with ours.makefile("rb") as answer:
                pieces = iter(partial(answer.read, 1 << 16), b"")
                return b"".join(islice(pieces, MAX_ANSWER_BYTES >> 16))
        finally:
            late.cancel()


def _hand_over(connection: socket.socket, module: str) -> None:
    server, control = _server()
    try:
        socket.send_fds(control, [module.encode().ljust(MODULE_NAME_BYTES)], [connection.fileno()])
    except OSError:  # the server is gone; the next call starts another one
        _server.cache_clear()
        _end(server, control)
        raise


@cache
def _server() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the process that forks a child for each connection that it is sent."""
    ours, theirs = socket.socketpair()
    code = f"import sys; sys.path[:] = {sys.path}; from {__name__} import serve; serve()"
    none = subprocess.DEVNULL
    with theirs:  # in a session of its own: Ctrl-C is for the process that asks
        server = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=theirs.fileno(), stdout=none, stderr=none, start_new_session=True,
        )  # fmt: skip
    atexit.register(_end, server, ours)
    return server, ours


def _end(server: subprocess.Popen[bytes], control: socket.socket) -> None:
    with server, control:
        server.kill()


def serve() -> None:
    """Fork a process for each connection received, after importing the module that it needs."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    folders = list(without_own_package(readable_paths(Confinement([]))))
    control = socket.socket(fileno=0)
    while (message := socket.recv_fds(control, MODULE_NAME_BYTES, 1))[0]:
        importlib.import_module(message[0].decode().strip())
        connection = socket.socket(fileno=message[1][0])
        if os.fork() == 0:
            try:
                control.close()
                _serve_one(connection, folders)
            finally:
                os._exit(0)
        connection.close()


def _serve_one(connection: socket.socket, folders: list[Path]) -> None:
    global _is_bounded
    _is_bounded = True
    function, paths_to_read = pickle.loads(connection.makefile("rb").read())
    _put_up_walls([*folders, *paths_to_read])
    try:
        answer = function()
    except GradeError as error:
        answer = as_text(str(error))
    connection.sendall(msgspec.msgpack.encode(answer))


def _put_up_walls(paths: list[Path]) -> None:
    """Limit this process, and let it read only these paths where the system supports it."""
    bounds = Limits(memory=MAX_MEMORY_MIB, cpu=MAX_CPU_S, file_size=0)
    limits.limit_resources(bounds, limits.memory_in_use(), own_users=False, on_gpu=False)
    if sys.platform != "linux":
        return
    with suppress(libc.WallError):
        privileges.die_with_parent(signal.SIGKILL)
        privileges.drop_capabilities()
        privileges.hide_memory()
        landlock.enter(landlock.make_ruleset(paths, [], []))
    with suppress(libc.WallError):
        seccomp.enter()
