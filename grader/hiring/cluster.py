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
from grader.hiring.process_pool import MAX_TRIES, START_TIMEOUT_S, given_up, max_wall_s
from grader.hiring.ray_client import ProcessGone, RayClient
from grader.hiring.ray_nodes import Node, NodeCapabilities, gpu_share
from grader.hiring.tasks import PoolSettings, Task, TaskOutcome

GRACE_PERIOD_S = 30.0  # how long the first process that is up waits for the others
POLL_INTERVAL_S = 2.0  # of the nodes; the longest wait for an answer, too


@dataclass(eq=False)
class _PendingTask:
    task: Task
    tries: int = 0  # attempts begun so far


@dataclass(eq=False)
class _Slot:
    """One process on a node, and its current work.

    Attributes:
        awaited: The reference to its next answer; None while nothing is asked of the process.
        up: Whether the process has said hello.
        waited: How long its current work has been waited for, in seconds.
    """

    node: Node
    actor: Any
    awaited: Any
    up: bool = False
    waited: float = 0.0
    work: _PendingTask | None = None


class Cluster:
    """Grades tasks on all nodes of a Ray cluster at once; a context manager, like ``GradingPool``.

    A process that dies, alone or with its node, is replaced, and costs its task one try; one that
    hangs is replaced, and its task given up. A node that joins later is used too, unless it differs
    from the others.

    Args:
        settings: How to grade; the device ``auto`` is the GPU where every node has one.
        address: The address of a running cluster: ``auto``, ``host:port``, ``ray://host:port``; or
            ``local`` to start Ray on this machine until the batch ends.
        size: How many processes at most; None for as many as there is room for.
        memory: The memory that each process may take, its submissions included, in MiB.

    Attributes:
        capabilities: The capabilities that all nodes have in common.
        left_out: For each node that is not used, by its id, a sentence that says why.

    Raises:
        GradeError: Ray or the cluster is not available, the nodes differ, or one lacks the device
            or the level of confinement.
    """

    def __init__(self, settings: PoolSettings, address: str, size: int | None, memory: int) -> None:
        self._size = size
        self._memory = memory
        self._max_wall_s = max_wall_s(settings)
        self._slots: list[_Slot] = []
        self._names: dict[str, str] = {}  # names of all nodes that were used, by id
        self._failed: dict[str, int] = {}  # starts in a row without a hello, by node
        self._looked = 0.0
        self._first: tuple[Node, NodeCapabilities] | None = None  # what the others have to match
        self.left_out: dict[str, str] = {}
        self._client = RayClient(address, size, memory)
        try:
            self._settle(settings)
            self.capabilities = self._gather()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, even in the middle of a task."""
        self._client.close()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, TaskOutcome]]:
        """Grade tasks, taken one by one as processes become free; yield each once it is done.

        Raises:
            GraderFault: For ``START_TIMEOUT_S`` there was no node that could grade.
        """
        left, again = (_PendingTask(task) for task in tasks), deque[_PendingTask]()
        able = time.monotonic()
        while True:
            self._look()
            self._begin(again, left)
            if any(slot.up for slot in self._slots):
                able = time.monotonic()
                if not any(slot.work for slot in self._slots):
                    return
            elif time.monotonic() - able > START_TIMEOUT_S:
                raise GraderFault(
                    "no node is left that can grade; run the same command to continue"
                )
            for slot, answer in self._answers():
                work, slot.work = slot.work, None
                if work is None:
                    self._greet(slot, answer)
                elif done := self._outcome(slot, work, answer):
                    self._begin(again, left)  # before the caller takes time over the outcome
                    yield work.task, done
                else:
                    again.append(work)

    def _settle(self, settings: PoolSettings) -> None:
        """Choose the device for all nodes, and complete the settings for their processes."""
        nodes = [node for node in self._client.nodes() if node.room(self._memory, on_gpu=False)]
        device = settings.device
        if device == "auto":
            device = "cuda" if nodes and all(node.gpus for node in nodes) else "cpu"
        self._on_gpu = device == "cuda"
        kit = str(Path(settings.kit).resolve()) if settings.kit else ""
        self._settings = structs.replace(settings, device=device, kit=kit)

    def _gather(self) -> NodeCapabilities:
        """Wait for processes to start, slow ones not too long; return the nodes' capabilities."""
        self._look()
        if not self._slots:
            gpu = " and a GPU" if self._on_gpu else ""
            raise GradeError(f"no node of the cluster has a core{gpu} and {self._memory} MiB")
        end = time.monotonic() + START_TIMEOUT_S
        while self._slots and time.monotonic() < end and not all(slot.up for slot in self._slots):
            for slot, answer in self._answers():
                if reason := self._greet(slot, answer):
                    raise GradeError(f"node `{slot.node.name}` cannot grade: {reason}")
                end = min(end, time.monotonic() + GRACE_PERIOD_S) if self._first else end
            self._look()
        if self._first is None:
            reasons = "; ".join(self.left_out.values())
            raise GraderFault(
                reasons
                or f"no process was up within {START_TIMEOUT_S:.0f} s: all cores may be taken, or "
                "the nodes too busy; run the same command again"
            )
        return self._first[1]

    def _look(self) -> None:
        """Start processes where there is room and note lost nodes, once per ``POLL_INTERVAL_S``."""
        if time.monotonic() - self._looked < POLL_INTERVAL_S:
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
                gpus = gpu_share(sharers) if self._on_gpu else 0.0
                message = msgspec.json.encode(structs.replace(self._settings, gpu_sharers=sharers))
                actor = self._client.start_actor(node, message, gpus)
                self._slots.append(_Slot(node, actor, actor.hello.remote()))

    def _answers(self) -> Iterator[tuple[_Slot, bytes | ProcessGone]]:
        """Yield the answers of processes that arrive within ``POLL_INTERVAL_S`` seconds.

        A process that hangs counts as gone.
        """
        waiting = {slot.awaited: slot for slot in self._slots if slot.awaited is not None}
        if not waiting:
            time.sleep(POLL_INTERVAL_S)
            return
        began = time.monotonic()
        answers = dict(self._client.answers(list(waiting), POLL_INTERVAL_S))
        # A longer wait means that this process itself was stopped, say by Ctrl-Z: not counted.
        waited = min(time.monotonic() - began, POLL_INTERVAL_S)
        for awaited, slot in waiting.items():
            slot.waited += waited
            if awaited in answers:
                slot.awaited, slot.waited = None, 0.0
                yield slot, answers[awaited]
            elif slot.work is not None and slot.waited > self._max_wall_s:
                yield slot, ProcessGone()

    def _greet(self, slot: _Slot, answer: bytes | ProcessGone) -> str:
        """Accept a process that can grade as the others do; else use its node no more.

        A process that died without a word may have died with its node, or by chance: it is
        replaced, unless that happened ``MAX_TRIES`` times in a row.

        Returns:
            Why the node cannot grade; empty where it can, or may still.
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
        if reason or self._failed[node.id] >= MAX_TRIES:
            why = reason or "its processes die as they start"
            self.left_out[node.id] = f"node `{node.name}` was left out: {why}"
        return reason

    def _unfit(self, node: Node, answer: bytes | ProcessGone) -> str:
        """Return why a node cannot grade, or not as the others do; empty for no known reason."""
        if isinstance(answer, ProcessGone):
            return answer.reason and f"{answer.reason}; is attention-drills installed there?"
        found = msgspec.json.decode(answer, type=NodeCapabilities)
        if found.grader != __version__:
            return f"it has attention-drills `{found.grader}`, not `{__version__}` as here"
        if found.fault:
            return found.fault
        self._first = self._first or (node, found)
        return found.difference_from(self._first[1], self._first[0].name)

    def _begin(self, again: deque[_PendingTask], left: Iterator[_PendingTask]) -> None:
        """Give a task to each idle process; tasks whose process died come first."""
        for slot in self._slots:
            if slot.up and slot.work is None:
                slot.work = again.popleft() if again else next(left, None)
                if slot.work is not None:
                    slot.work.tries += 1
                    message = msgspec.msgpack.encode(slot.work.task)
                    slot.awaited = slot.actor.do.remote(message)
                    slot.actor.prepare.remote()  # while its answer is on the way here

    def _outcome(
        self, slot: _Slot, work: _PendingTask, answer: bytes | ProcessGone
    ) -> TaskOutcome | None:
        """Return a task's outcome; None where its process is gone and the task is to be retried."""
        if isinstance(answer, bytes):
            return msgspec.json.decode(answer, type=TaskOutcome, strict=False)
        self._end(slot)
        if slot.waited > self._max_wall_s:
            return given_up(self._max_wall_s)
        return given_up(0.0, answer.reason) if work.tries >= MAX_TRIES else None

    def _end(self, slot: _Slot) -> None:
        self._client.end(slot.actor)
        self._slots.remove(slot)
