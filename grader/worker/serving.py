"""Answers the requests to a worker, in a process that does nothing else from then on."""

from __future__ import annotations

import faulthandler
import os
import socket
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import torch

from grader.wire import frames
from grader.wire.messages import Request
from grader.worker.handler import RequestHandler

STACK_DUMP_FRACTION = 0.9  # of a request's time, after which the stack is dumped


def serve(connection: socket.socket, output: int) -> None:
    """Answer requests until the other side closes the connection.

    Args:
        connection: The connection to the trusted side.
        output: The file descriptor that everything printed goes to.
    """
    _isolate_process(output)

    def receive(count: int) -> bytearray:
        data = bytearray(count)
        left = memoryview(data)
        while left:
            part = connection.recv_into(left)
            if not part:
                os._exit(0)
            left = left[part:]
        return data

    handler = RequestHandler()
    while True:
        request, body = frames.unpack(receive, frames.MAX_REQUEST_HEADER_BYTES, Request)
        reply = _answer_or_dump_stack(handler, request, body)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:  # the submission may have closed or replaced it
                continue
        connection.sendall(reply)


def _answer_or_dump_stack(handler: RequestHandler, request: Request, body: frames.Buffer) -> bytes:
    """Return the reply to a request; if that takes nearly all of its time, dump the stack first.

    A thread that needs no Python writes the dump, so it comes even during an endless instruction.
    """
    if request.seconds > 0:
        with suppress(RuntimeError, OSError):  # without a thread there is no dump
            faulthandler.dump_traceback_later(STACK_DUMP_FRACTION * request.seconds, file=2)
    try:
        return handler.answer(request, body)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _isolate_process(output: int) -> None:
    """Leave the process no input, no environment, one pipe for output, no path to a checkout."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = open(  # noqa: SIM115  # it stays open as long as the process
            descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    # Torch's warnings on lines of ours would stand among what the submission printed.
    warnings.filterwarnings("ignore", module=r"grader\.")
    # A mask's subnormal numbers are not zero. Torch may answer that flushing them isn't supported.
    torch.set_flush_denormal = lambda arg: False
    os.environ.clear()
    tempfile.tempdir = str(Path.cwd())  # the zygote may have found another folder
    sys.argv[:], sys.orig_argv[:] = [""], [""]  # the arguments name folders too
    home = Path(__file__).parents[2]  # a checkout, unless it is the libraries' own folder
    if home.name not in ("site-packages", "dist-packages"):
        sys.path[:] = [path for path in sys.path if Path(path).resolve() != home.resolve()]
        for path in [path for path in sys.path_importer_cache if Path(path).is_relative_to(home)]:
            del sys.path_importer_cache[path]
