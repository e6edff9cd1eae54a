"""Processes that grade side by side on the machines of a Ray cluster."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import structs

from grader import __version__
from grader.errors import GradeError, GraderFault
from grader.hiring.process_pool import START_SECONDS, TRIES
from grader.hiring.ray_client import Gone, RayClient
from grader.hiring.ray_nodes import Node, NodeCapabilities, part
from grader.hiring.tasks import Outcome, Settings, Task

GRACE = 30.0  # how long the first process that is up waits for the others, in seconds
LOOK = 2.0  # how often the nodes are looked at, in seconds


@dataclass(eq=False)
class _Work:
    task: Task
    tries: int = 0  # begun so far


@dataclass(eq=False)
class _Slot:
    """One process on a node, and what it is at.

    Attributes:
        awaited: What it will answer; None while nothing is asked of it.
        up: Whether it has said hello.
    """

    node: Node
    actor: Any
    awaited: Any
    up: bool = False
    work: _Work | None = None


class Cluster:
    """Grades tasks on all nodes of a Ray cluster at once; a context manager, like ``GradingPool``.

    A process that dies, alone or with its node, is replaced, and costs its task one try. A node
    that joins later is used too, unless it differs from the others.

    Args:
        settings: How to grade; the device ``auto`` is the GPU where every node has one.
        address: Of a cluster that is there: ``auto``, ``host:port``, ``ray://host:port``; or
            ``local`` for a Ray of its own on this machine, which ends with it.
        size: How many processes at most; None for as many as there is room for.
        memory: What each may take with all that belongs to it, in MiB.

    Attributes:
        found: What there is on all nodes.
        left_out: Of nodes that are not used, by their ids: a sentence that says why.

    Raises:
        GradeError: Ray or the cluster is not there, the nodes differ, or the device or the level
            of confinement is not available on one.
    """

    def __init__(self, settings: Settings, address: str, size: int | None, memory: int) -> None:
        self._size = size
        self._memory = memory
        self._slots: list[_Slot] = []
        self._names: dict[str, str] = {}  # of all nodes that were used, by their ids
        self._failed: dict[str, int] = {}  # starts in a row without a hello, by node
        self._looked = 0.0
        self._first: tuple[Node, NodeCapabilities] | None = None  # what the others have to be like
        self.left_out: dict[str, str] = {}
        self._client = RayClient(address, size, memory)
        try:
            self._settle(settings)
            self.found = self._gather()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, whatever they are at."""
        self._client.close()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Grade tasks; each is given as soon as it is done.

        Args:
            tasks: Taken one by one, as there is a process for them.

        Raises:
            GraderFault: For a long time there was no node that could grade.
        """
        left, again = (_Work(task) for task in tasks), deque[_Work]()
        able = time.monotonic()
        while True:
            self._look()
            self._begin(again, left)
            if any(slot.up for slot in self._slots):
                able = time.monotonic()
                if not any(slot.work for slot in self._slots):
                    return
            elif time.monotonic() - able > START_SECONDS:
                raise GraderFault(
                    "no node is left that can grade; run the same command to continue"
                )
            for slot, answer in self._answers():
                work, slot.work = slot.work, None
                if work is None:
                    self._greet(slot, answer)
                elif done := self._outcome(slot, work, answer):
                    self._begin(again, left)  # before whoever asked takes his time
                    yield work.task, done
                else:
                    again.append(work)

    def _settle(self, settings: Settings) -> None:
        """Find the device for all nodes, and what their processes are to be told."""
        nodes = [node for node in self._client.nodes() if node.room(self._memory, on_gpu=False)]
        device = settings.device
        if device == "auto":
            device = "cuda" if nodes and all(node.gpus for node in nodes) else "cpu"
        self._on_gpu = device == "cuda"
        kit = str(Path(settings.kit).resolve()) if settings.kit else ""
        self._settings = structs.replace(settings, device=device, kit=kit)

    def _gather(self) -> NodeCapabilities:
        """Wait until processes are up, the slowest not too long; what is found on all nodes."""
        self._look()
        if not self._slots:
            gpu = " and a GPU" if self._on_gpu else ""
            raise GradeError(f"no node of the cluster has a core{gpu} and {self._memory} MiB")
        end = time.monotonic() + START_SECONDS
        while self._slots and time.monotonic() < end and not all(slot.up for slot in self._slots):
            for slot, answer in self._answers():
                if reason := self._greet(slot, answer):
                    raise GradeError(f"node `{slot.node.name}` cannot grade: {reason}")
                end = min(end, time.monotonic() + GRACE) if self._first else end
            self._look()
        if self._first is None:
            reasons = "; ".join(self.left_out.values())
            raise GraderFault(reasons or f"no core came free in {START_SECONDS:.0f} s")
        return self._first[1]

    def _look(self) -> None:
        """Now and then, see to it that each node has as many processes as there is room for."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        nodes = self._client.nodes()
        for gone in self._names.keys() - {node.id for node in nodes}:
            self.left_out[gone] = f"node `{self._names[gone]}` went away"
        for node in nodes:
            room = node.room(self._memory, self._on_gpu)
            more = room - sum(slot.node.id == node.id for slot in self._slots)
            if self._size is not None:
                more = min(more, self._size - len(self._slots))
            for _ in range(0 if node.id in self.left_out else more):
                self._names[node.id] = node.name
                sharers = node.sharers(room) if self._on_gpu else 1
                gpus = part(sharers) if self._on_gpu else 0.0
                words = msgspec.json.encode(structs.replace(self._settings, gpu_sharers=sharers))
                actor = self._client.start_actor(node, words, gpus)
                self._slots.append(_Slot(node, actor, actor.hello.remote()))

    def _answers(self) -> Iterator[tuple[_Slot, bytes | Gone]]:
        """What processes answer within a while."""
        waiting = {slot.awaited: slot for slot in self._slots if slot.awaited is not None}
        if not waiting:
            time.sleep(LOOK)
            return
        for awaited, answer in self._client.answers(list(waiting), LOOK):
            slot = waiting[awaited]
            slot.awaited = None
            yield slot, answer

    def _greet(self, slot: _Slot, answer: bytes | Gone) -> str:
        """Take in a process that can grade, and like the others; else leave out its node.

        One that died without a word may have died with its node, or by chance: it is replaced.

        Returns:
            Why its node cannot grade; empty where it can, or may yet.
        """
        node = slot.node
        reason = self._unfit(node, answer)
        if isinstance(answer, bytes) and not reason:
            slot.up = True
            self._failed[node.id] = 0
            return ""
        self._end(slot)
        self._looked = 0.0
        self._failed[node.id] = self._failed.get(node.id, 0) + 1
        if reason or self._failed[node.id] >= TRIES:
            why = reason or "its processes die as they start"
            self.left_out[node.id] = f"node `{node.name}` was left out: {why}"
        return reason

    def _unfit(self, node: Node, answer: bytes | Gone) -> str:
        """Why a node cannot grade, or not as the others do; empty where that is not known."""
        if isinstance(answer, Gone):
            return answer.reason and f"{answer.reason}; is attention-drills installed there?"
        found = msgspec.json.decode(answer, type=NodeCapabilities)
        if found.grader != __version__:
            return f"it has attention-drills `{found.grader}`, not `{__version__}` as here"
        if found.fault:
            return found.fault
        self._first = self._first or (node, found)
        return found.unlike(self._first[1], self._first[0].name)

    def _begin(self, again: deque[_Work], left: Iterator[_Work]) -> None:
        """Give work to whoever has none: first what was begun before."""
        for slot in self._slots:
            if slot.up and slot.work is None:
                slot.work = again.popleft() if again else next(left, None)
                if slot.work is not None:
                    slot.work.tries += 1
                    words = msgspec.msgpack.encode(slot.work.task)
                    slot.awaited = slot.actor.do.remote(words)
                    slot.actor.prepare.remote()  # while its answer is on its way

    def _outcome(self, slot: _Slot, work: _Work, answer: bytes | Gone) -> Outcome | None:
        """What came of a task; None where its process is gone, and it is to be tried again."""
        if isinstance(answer, bytes):
            return msgspec.json.decode(answer, type=Outcome, strict=False)
        self._end(slot)
        if work.tries < TRIES:
            return None
        reason = f": {answer.reason}" if answer.reason else ""
        return Outcome(fault=f"the process that graded it died {TRIES} times{reason}")

    def _end(self, slot: _Slot) -> None:
        self._client.end(slot.actor)
        self._slots.remove(slot)
