"""Runs functions of ours on what strangers made, each in a process of its own, within walls.

A few bytes can make a parser take any time and memory, or do worse. What that costs is the
process's, and what it answers is data: nothing of it is unpickled.
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
from grader.submission.source import readable as as_text
from grader.wire.levels import Confinement, Limits
from grader.worker.confine import readable, without_own_package
from grader.worker.walls import landlock, libc, limits, privileges, seccomp

MEBIBYTES = 512  # of memory, for each call
SECONDS = 10  # of processor time, for each call
WAIT = 300.0  # seconds that a call may take in all
MAX_ANSWER = 32 << 20  # bytes
MAX_TEXT = 5000  # letters of a refusal
LONGEST = 100  # letters of a module's name

_is_bounded = False  # this process itself

_T = TypeVar("_T")


def bounded(name: str, function: partial[_T], gives: type[_T], reads: Sequence[Path] = ()) -> _T:
    """What a function gives, which is run elsewhere: what it changes is not changed here.

    Args:
        name: Of what it reads.
        function: It can be pickled.
        gives: What must come of it, as ``msgspec`` knows it; no text, which is a refusal.
        reads: The files and folders that it opens.

    Raises:
        GradeError: It raised it, or took more than its bounds.
    """
    if _is_bounded:
        return function()
    try:
        answer = msgspec.msgpack.decode(_ask(function, reads), type=gives | str)
    except (OSError, msgspec.DecodeError):
        raise GradeError(
            f"`{name}` cannot be read within {SECONDS} s and {MEBIBYTES} MiB; a Python file "
            "that holds nothing else is read at once"
        ) from None
    if isinstance(answer, str):
        raise GradeError(answer[:MAX_TEXT])
    return answer


def _ask(function: partial[_T], reads: Sequence[Path]) -> bytes:
    """What a process that is forked for it says until it ends."""
    ours, theirs = socket.socketpair()
    late = threading.Timer(WAIT, ours.shutdown, [socket.SHUT_RDWR])
    with ours:
        with theirs:
            _hand_over(theirs, function.func.__module__)
        late.start()
        try:
            ours.sendall(pickle.dumps((function, reads)))
            ours.shutdown(socket.SHUT_WR)
            with ours.makefile("rb") as answer:
                pieces = iter(partial(answer.read, 1 << 16), b"")
                return b"".join(islice(pieces, MAX_ANSWER >> 16))
        finally:
            late.cancel()


def _hand_over(connection: socket.socket, module: str) -> None:
    server, control = _server()
    try:
        socket.send_fds(control, [module.encode().ljust(LONGEST)], [connection.fileno()])
    except OSError:  # it is gone; the next call begins another one
        _server.cache_clear()
        _end(server, control)
        raise


@cache
def _server() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A process that forks one for each connection it is sent."""
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
    """Fork a process for each connection that comes; what it needs is imported before."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    folders = list(without_own_package(readable(Confinement([]))))
    control = socket.socket(fileno=0)
    while (message := socket.recv_fds(control, LONGEST, 1))[0]:
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
    function, reads = pickle.loads(connection.makefile("rb").read())
    _put_up_walls([*folders, *reads])
    try:
        answer = function()
    except GradeError as error:
        answer = as_text(str(error))
    connection.sendall(msgspec.msgpack.encode(answer))


def _put_up_walls(paths: list[Path]) -> None:
    """Bound this process, and have it read these paths alone where the system can."""
    bounds = Limits(memory=MEBIBYTES, cpu=SECONDS, file_size=0)
    limits.limit_resources(bounds, limits.in_use(), own_users=False, on_gpu=False)
    if sys.platform != "linux":
        return
    with suppress(libc.WallError):
        privileges.die_with_parent(signal.SIGKILL)
        privileges.drop_capabilities()
        privileges.hide_memory()
        landlock.enter(landlock.make_ruleset(paths, [], []))
    with suppress(libc.WallError):
        seccomp.enter()
