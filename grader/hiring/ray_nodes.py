"""The nodes of a Ray cluster: the room on each, its capabilities, and the actor that runs there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import msgspec

from grader.hiring.tasks import Capabilities

ADVICE_IF_DIFFERENT = {
    "torch": "",
    "isolation": "; --isolation asks for one that all have",
    "kit": "; all need the same suites",
}
STEPS_PER_GPU = 10_000  # Ray counts parts of a GPU in such steps
MAX_GPU_SHARERS = 8  # processes: so many fit 16 GiB, and Ray does not tell a GPU's memory


@dataclass(frozen=True)
class Node:
    """A machine of the cluster, as Ray describes it.

    Attributes:
        name: The name that its owner gave it, else its host's name.
        resources: The amount of each resource that Ray may give away there, by Ray's names.
    """

    id: str
    name: str
    resources: dict[str, float]

    @classmethod
    def of(cls, record: dict[str, Any]) -> Node:
        """Make a node from Ray's record of it."""
        unnamed = record["NodeName"] == record["NodeManagerAddress"]
        name = record["NodeManagerHostname" if unnamed else "NodeName"]
        return cls(record["NodeID"], name, record["Resources"])

    @property
    def gpus(self) -> int:
        """How many GPUs the node has."""
        return int(self.resources.get("GPU", 0))

    def room(self, memory: int, on_gpu: bool) -> int:
        """Return how many processes fit on the node, each with a core and ``memory`` MiB."""
        if on_gpu and not self.gpus:
            return 0
        fit = int(self.resources.get("memory", 0)) // (memory << 20)
        room = min(int(self.resources.get("CPU", 0)), fit)
        return min(room, MAX_GPU_SHARERS * self.gpus) if on_gpu else room

    def sharers(self, count: int) -> int:
        """Return how many of ``count`` processes share one of the node's GPUs at most."""
        return max(1, -(-count // self.gpus))


def gpu_share(sharers: int) -> float:
    """Return the part of a GPU that each of its sharers asks Ray for, so that all of them fit."""
    return STEPS_PER_GPU // sharers / STEPS_PER_GPU


class NodeCapabilities(Capabilities, frozen=True):
    """What a process has found on its node, with its version of this package."""

    grader: str = ""

    def difference_from(self, first: NodeCapabilities, name: str) -> str:
        """Return how this node differs from the batch's first, called ``name``; else empty."""
        for what in ADVICE_IF_DIFFERENT:
            mine, others = getattr(self, what), getattr(first, what)
            if mine != others:
                return (
                    f"it has {what} `{mine}`, not `{others}` as `{name}`{ADVICE_IF_DIFFERENT[what]}"
                )
        return ""


class GraderActor:
    """One process on a node, as Ray runs it; bytes go in and come out.

    This package is imported in ``hello`` at the earliest, so that a node without it can say so.
    """

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._grader: Any = None

    def hello(self) -> bytes:
        """Wait until the sandbox is up; return a ``NodeCapabilities`` as JSON."""
        import grader
        from grader.errors import GradeError
        from grader.hiring.grading_process import TaskGrader
        from grader.hiring.tasks import PoolSettings

        try:
            self._grader = TaskGrader(msgspec.json.decode(self._message, type=PoolSettings))
        except GradeError as error:
            return msgspec.json.encode({"grader": grader.__version__, "fault": str(error)})
        found = {"grader": grader.__version__, **msgspec.to_builtins(self._grader.capabilities)}
        return msgspec.json.encode(found)

    def do(self, message: bytes) -> bytes:
        """Grade a task, and return its outcome as JSON."""
        from grader.hiring.grading_process import encode_outcome
        from grader.hiring.tasks import Task

        return encode_outcome(self._grader.do(msgspec.msgpack.decode(message, type=Task)))

    def prepare(self) -> None:
        """Start the next worker in advance; where that fails, end this process."""
        try:
            self._grader.sandbox.prepare()
        except Exception:  # whatever the error, a fresh process may do better
            os._exit(1)
