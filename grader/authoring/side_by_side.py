"""Several exercises of a kit held to our standards at once, in processes with a sandbox each."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeAlias

from grader.authoring.checking import Effort, Inspection
from grader.authoring.findings import Finding
from grader.authoring.layout import record_stub_digest
from grader.errors import GradeError, GraderFault
from grader.kit import Exercise, Kit
from grader.sandbox.process import Sandbox


@dataclass(frozen=True)
class Graded:
    """A grading of an exercise is done."""

    exercise: str


@dataclass(frozen=True)
class Inspected:
    """An exercise is done.

    Attributes:
        exercise: Its name.
        falls_short: Whether there was a finding.
        left_out: How many of each kind were not drawn, by its name in the plural.
        new_digest: The stub's digest, if the manifest had another; it has this one now.
    """

    exercise: str
    falls_short: bool
    left_out: dict[str, int]
    new_digest: str


Event: TypeAlias = Finding | Graded | Inspected


def inspect_all(
    kit: Kit, exercises: Sequence[Exercise], effort: Effort, processes: int
) -> Iterator[Event]:
    """Inspect exercises in several processes, and yield all that comes of it as it comes.

    Raises:
        GradeError: The machine cannot grade, or the manifest cannot be written.
        GraderFault: A process died.
    """
    left = iter(exercises)
    busy: dict[Connection, str] = {}

    def hand_out_next(connection: Connection) -> None:
        if exercise := next(left, None):
            busy[connection] = exercise.name
            connection.send(exercise)
        else:
            busy.pop(connection)

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # imports torch once for all processes
    started: list[BaseProcess] = []
    try:
        for _ in range(min(processes, len(exercises))):
            connection, theirs = context.Pipe()
            started.append(context.Process(target=_serve, args=(theirs, kit, effort), daemon=True))
            started[-1].start()
            theirs.close()
            hand_out_next(connection)
        while busy:
            ready = wait([*busy])
            for connection in [one for one in busy if one in ready]:
                event = _received(connection, busy[connection])
                yield event
                if not isinstance(event, Inspected):
                    continue
                if event.new_digest:
                    record_stub_digest(kit.home, event.exercise, event.new_digest)
                hand_out_next(connection)
    finally:
        for process in started:
            process.kill()
            process.join()


def _received(connection: Connection, exercise: str) -> Event:
    try:
        event: Event | GradeError = connection.recv()
    except (EOFError, OSError):
        told = f"the process that checked `{exercise}` died; `--only {exercise}` may tell why"
        raise GraderFault(told) from None
    if isinstance(event, GradeError):
        raise event
    return event


def _serve(connection: Connection, kit: Kit, effort: Effort) -> None:
    """Inspect the exercises that come over a connection, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    try:
        with Sandbox() as sandbox:
            while True:
                _inspect(kit, connection.recv(), sandbox, effort, connection.send)
    except GradeError as error:
        connection.send(error)
    except (EOFError, OSError):
        return  # the process that asks is gone


def _inspect(
    kit: Kit,
    exercise: Exercise,
    sandbox: Sandbox,
    effort: Effort,
    send: Callable[[Event], object],
) -> None:
    graded = Graded(exercise.name)
    inspection = Inspection(kit, exercise, sandbox, effort, lambda: send(graded))
    falls_short = False
    for finding in inspection.findings():
        falls_short = True
        send(finding)
    left_out, new_digest = dict(inspection.left_out), inspection.new_digest
    send(Inspected(exercise.name, falls_short, left_out, new_digest))
