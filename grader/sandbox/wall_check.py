"""Tests whether a sandbox's walls hold: a canary in a worker attempts what no submission may do."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path
from typing import NamedTuple

from grader.errors import GraderFault, MachineBusy
from grader.sandbox.clock import Clock
from grader.sandbox.workers import WorkerEnded, WorkerProcess
from grader.wire import messages, responses

CANARY_FILE = Path(__file__).parents[1] / "worker" / "canary_payload.py"
CANARY_TIMEOUT_S = 20.0
# Attempts that level `process` does not promise to refuse.
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


class CanaryResult(NamedTuple):
    """The outcome of a canary's attempts.

    Attributes:
        done: What the canary could do, as phrases such as ``reads a hidden file``.
        problem: Why the level does not hold, as one line; empty where it does.
    """

    done: list[str]
    problem: str


def try_walls(level: str, worker: WorkerProcess, memory_is_bounded: bool) -> CanaryResult:
    """Run a canary, code that attempts what no submission may do, in a worker; then end the worker.

    Args:
        level: The level of confinement that the worker says it is in.
        worker: A fresh worker.
        memory_is_bounded: Whether the platform can bound a worker's memory at all.

    Raises:
        MachineBusy: The machine has no time for the canary.
    """
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        hidden = Path(folder) / "hidden"
        hidden.write_text("secret", encoding="utf-8")
        try:
            done = _probe(worker, str(hidden), server.getsockname()[1])
        except MachineBusy:
            raise  # this says nothing about the walls
        except (GraderFault, WorkerEnded, _CanaryFailed) as reason:
            return CanaryResult([], f"its walls could not be tried: {reason}")
    allowed = OPEN_AT_PROCESS if level == "process" else set()
    if not memory_is_bounded:
        allowed = allowed | {"takes 4 gib"}
    open_walls = sorted(set(done) - allowed)
    return CanaryResult(done, f"a worker {', '.join(open_walls)}" if open_walls else "")


class _CanaryFailed(Exception):
    """The canary failed; the text says how, as one line."""


def _probe(worker: WorkerProcess, path: str, port: int) -> list[str]:
    clock = Clock(CANARY_TIMEOUT_S)
    arguments = messages.Arguments({"tuple": [path, port]}, {"dict": {}})
    load = messages.Load(CANARY_FILE.read_text(encoding="utf-8"), "canary.py")
    steps = [messages.Step(load), messages.Step(messages.Call("probe", [arguments]))]
    try:
        worker.send(messages.Request(steps), clock)
        reply, _ = worker.receive(clock)
    finally:
        worker.kill()
    match reply.answers[-1:]:
        case [responses.Called(results=[{"list": done}])]:
            return [str(name) for name in done]
        case [responses.Raised(fault=fault)]:
            text = fault.message.partition("\n")[0][:200]
            raise _CanaryFailed(f"{fault.type}: {text}")
        case other:
            raise _CanaryFailed(f"it answers {other}"[:200])
