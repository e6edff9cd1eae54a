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
from grader.hiring.crew import START_SECONDS, TRIES, Done, Settings, Task
from grader.hiring.link import Link
from grader.hiring.nodes import Found, Node

GRACE = 30.0  # how long the first process that is up waits for the others, in seconds
LOOK = 2.0  # how often the nodes are looked at, in seconds


@dataclass(eq=False)
class _Work:
    task: Task
    tries: int = 0  # begun so far


@dataclass(eq=False)
class _Seat:
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
    """Grades tasks on all nodes of a Ray cluster at once; a context manager, like ``Crew``.

    A process that dies, alone or with its node, is replaced, and costs its task one try. A node
    that joins later is used too, unless it differs from the others.

    Args:
        settings: How to grade; the device ``auto`` is the GPU where every node has one.
        address: Of a cluster that is there: ``auto``, ``host:port``, ``ray://host:port``; or
            ``local`` for a Ray of its own on this machine, which ends with it.
        size: How many processes at most; None for as many as there is room for.
        memory: What each may take with all that belongs to it, in MiB.

    Attributes:
        left_out: Of nodes that are not used, by their ids: a sentence that says why.

    Raises:
        GradeError: Ray or the cluster is not there, the nodes differ, or the device or the level
            of confinement cannot be had on one.
    """

    def __init__(self, settings: Settings, address: str, size: int | None, memory: int) -> None:
        self._size = size
        self._memory = memory
        self._seats: list[_Seat] = []
        self._names: dict[str, str] = {}  # of all nodes that were used, by their ids
        self._failed: dict[str, int] = {}  # starts in a row without a hello, by node
        self._looked = 0.0
        self._first: tuple[Node, Found] | None = None  # what the others have to be like
        self.left_out: dict[str, str] = {}
        self._link = Link(address, size, memory)
        try:
            self._settle(settings)
            self._gather()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def isolation(self) -> str:
        """The level of confinement in force on all nodes."""
        assert self._first is not None
        return self._first[1].isolation

    @property
    def torch(self) -> str:
        """The version of torch on all nodes."""
        assert self._first is not None
        return self._first[1].torch

    def close(self) -> None:
        """End all processes, whatever they are at."""
        self._link.close()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Done]]:
        """Grade tasks; each is given as soon as it is done.

        Args:
            tasks: Taken one by one, as there is a process for them.

        Raises:
            GraderFault: For a long time there was no node that could grade.
        """
        left, again = iter(tasks), deque[_Work]()
        able = time.monotonic()
        while True:
            self._look()
            up = [seat for seat in self._seats if seat.up]
            for seat in up:
                if seat.work is None and (work := _next(again, left)):
                    self._begin(seat, work)
            if up and not any(seat.work for seat in up):
                return
            able = time.monotonic() if up else able
            if time.monotonic() - able > START_SECONDS:
                raise GraderFault("no node is left that can grade; the same command goes on")
            for seat, answer in self._answers():
                work, seat.work = seat.work, None
                if work is None:
                    self._let_in(seat, answer)
                elif isinstance(answer, bytes):
                    yield work.task, msgspec.json.decode(answer, type=Done, strict=False)
                elif work.tries < TRIES:
                    again.append(work)
                else:
                    yield work.task, Done(fault=f"the process that graded it died {TRIES} times")

    def _settle(self, settings: Settings) -> None:
        """Find the device for all nodes, and what their processes are to be told."""
        nodes = [node for node in self._link.nodes() if node.room(self._memory, on_gpu=False)]
        device = settings.device
        if device == "auto":
            device = "cuda" if nodes and all(node.gpus for node in nodes) else "cpu"
        self._on_gpu = device == "cuda"
        kit = str(Path(settings.kit).resolve()) if settings.kit else ""
        self._words = msgspec.json.encode(structs.replace(settings, device=device, kit=kit))

    def _gather(self) -> None:
        """Wait until the processes are up; those that take longer than others come in later."""
        self._look()
        if not self._seats:
            gpu = " and a GPU" if self._on_gpu else ""
            raise GradeError(f"no node of the cluster has a core{gpu} and {self._memory} MiB")
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and not all(seat.up for seat in self._seats):
            for seat, answer in self._answers():
                if reason := self._greet(seat, answer):
                    raise GradeError(f"node `{seat.node.name}` cannot grade: {reason}")
                end = min(end, time.monotonic() + GRACE)
        if self._first is None:
            raise GraderFault(f"no core of the cluster came free in {START_SECONDS:.0f} s")

    def _look(self) -> None:
        """Now and then, see to it that each node has as many processes as there is room for."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        nodes = self._link.nodes()
        for gone in self._names.keys() - {node.id for node in nodes}:
            self.left_out[gone] = f"node `{self._names[gone]}` went away"
        for node in nodes:
            room = node.room(self._memory, self._on_gpu)
            more = room - sum(seat.node.id == node.id for seat in self._seats)
            if self._size is not None:
                more = min(more, self._size - len(self._seats))
            for _ in range(0 if node.id in self.left_out else more):
                self._names[node.id] = node.name
                gpus = node.share(room) if self._on_gpu else 0.0
                actor = self._link.post(node, self._words, gpus)
                self._seats.append(_Seat(node, actor, actor.hello.remote()))

    def _answers(self) -> Iterator[tuple[_Seat, bytes | str]]:
        """What processes answer within a while; one that is gone is let go, and a text says why."""
        waiting = {seat.awaited: seat for seat in self._seats if seat.awaited is not None}
        if not waiting:
            time.sleep(LOOK)
            return
        for awaited, answer in self._link.answers(list(waiting), LOOK):
            seat = waiting[awaited]
            seat.awaited = None
            if isinstance(answer, str):
                self._end(seat)
            yield seat, answer

    def _greet(self, seat: _Seat, answer: bytes | str) -> str:
        """Take in a process that can grade, and like the others; else let it go and say why."""
        if isinstance(answer, str):
            return answer
        found = msgspec.json.decode(answer, type=Found)
        node, first = self._first or (seat.node, found)
        if found.grader != __version__:
            reason = f"it has attention-drills `{found.grader}`, not `{__version__}` as here"
        else:
            reason = found.fault or found.unlike(first, node.name)
        if reason:
            self._end(seat)
        else:
            self._first, seat.up = (node, first), True
        return reason

    def _let_in(self, seat: _Seat, answer: bytes | str) -> None:
        """Take in a process that started late, or leave out its node."""
        reason, node = self._greet(seat, answer), seat.node
        self._failed[node.id] = self._failed.get(node.id, 0) + 1 if reason else 0
        if reason and (isinstance(answer, bytes) or self._failed[node.id] >= TRIES):
            self.left_out[node.id] = f"node `{node.name}` was left out: {reason}"

    def _begin(self, seat: _Seat, work: _Work) -> None:
        work.tries += 1
        seat.work = work
        seat.awaited = seat.actor.do.remote(msgspec.msgpack.encode(work.task))
        seat.actor.prepare.remote()  # while its answer is on its way

    def _end(self, seat: _Seat) -> None:
        self._link.end(seat.actor)
        self._seats.remove(seat)


def _next(again: deque[_Work], left: Iterator[Task]) -> _Work | None:
    """What is to be done next: first what was begun before."""
    if again:
        return again.popleft()
    task = next(left, None)
    return None if task is None else _Work(task)
