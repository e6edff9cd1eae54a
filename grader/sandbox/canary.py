"""Whether the walls really hold: a canary in a worker tries what no submission may do."""

from __future__ import annotations

import socket
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from grader.errors import GraderFault
from grader.sandbox.workers import Worker, WorkerEnded

SOURCE = Path(__file__).parent / "inside" / "canary.py"
SECONDS = 20.0
# What level `process` does not promise to refuse.
OPEN_AT_PROCESS = {
    "reads a hidden file",
    "lists a hidden folder",
    "writes beside it",
    "changes its mode",
    "connects to this machine",
    "sends a datagram",
    "signals its parent",
    "sees other processes",
    "starts a process",
    "runs a program",
    "makes a namespace",
}


class Tried(NamedTuple):
    """What came of a canary's attempts.

    Attributes:
        done: What it could do, as phrases such as ``reads a hidden file``.
        problem: Why the level does not hold, as one line; empty where it does.
    """

    done: list[str]
    problem: str


def try_walls(level: str, worker: Worker, memory_is_bounded: bool) -> Tried:
    """Let a canary try the walls of a worker, which is ended afterwards.

    Args:
        level: The level of confinement that the worker says it is in.
        worker: A fresh one.
        memory_is_bounded: Whether the platform can bound a worker's memory at all.
    """
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        hidden = Path(folder) / "hidden"
        hidden.write_text("secret", encoding="utf-8")
        try:
            done = _probe(worker, str(hidden), server.getsockname()[1])
        except (GraderFault, WorkerEnded, _NotTried) as reason:
            return Tried([], f"its walls could not be tried: {reason}")
    allowed = OPEN_AT_PROCESS if level == "process" else set()
    if not memory_is_bounded:
        allowed = allowed | {"takes 4 gib"}
    open_walls = sorted(set(done) - allowed)
    return Tried(done, f"a worker {', '.join(open_walls)}" if open_walls else "")


class _NotTried(Exception):
    """The canary failed; the text says how, as one line."""


def _probe(worker: Worker, path: str, port: int) -> list[str]:
    deadline = time.monotonic() + SECONDS
    arguments = {"args": {"tuple": [path, port]}, "kwargs": {"dict": {}}}
    call = {"target": "probe", "method": "", "calls": [arguments]}
    more: dict[str, Any] = {"parameters": {}, "learned": [], "mode": None}
    source = SOURCE.read_text(encoding="utf-8")
    try:
        for request in (
            {"do": "load", "source": source, "filename": "canary.py"},
            {"do": "call", **call, **more, "graph": None, "watch": False},
        ):
            worker.send(request, deadline=deadline)
            header, _ = worker.receive(deadline)
            if fault := header.get("fault"):
                text = str(fault["message"]).partition("\n")[0][:200]
                raise _NotTried(f"{fault['type']}: {text}")
    finally:
        worker.kill()
    return [str(name) for name in header["results"][0]["list"]]
