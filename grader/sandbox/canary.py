"""Whether the walls really hold: a canary in a worker tries what no submission may do."""

from __future__ import annotations

import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderFault

if TYPE_CHECKING:
    from grader.sandbox.process import Sandbox
    from grader.sandbox.workers import Worker

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


def check_walls(sandbox: Sandbox, worker: Worker) -> list[str]:
    """Let a canary try the walls of a worker, which is ended afterwards.

    Returns:
        What it could do, as phrases such as ``reads a hidden file``.

    Raises:
        GraderFault: It could do something that the level in force promises to refuse.
    """
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        hidden = Path(folder) / "hidden"
        hidden.write_text("secret", encoding="utf-8")
        done = _probe(worker, str(hidden), server.getsockname()[1])
    allowed = OPEN_AT_PROCESS if sandbox.isolation == "process" else set()
    if open_walls := sorted(set(done) - allowed - _beyond(sandbox)):
        raise GraderFault(
            f"isolation `{sandbox.isolation}` does not hold here: a worker {', '.join(open_walls)}"
        )
    return done


def _beyond(sandbox: Sandbox) -> set[str]:
    """What the platform cannot refuse at all."""
    return {"takes 4 gib"} if sandbox.spawns or sandbox.on_gpu else set()


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
    finally:
        worker.kill()
    if "results" not in header:
        raise GraderFault(f"the canary that tries the walls failed: {header}")
    return [str(name) for name in header["results"][0]["list"]]
