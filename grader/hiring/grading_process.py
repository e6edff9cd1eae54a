"""A process of a pool, which grades one task after the other."""

from __future__ import annotations

import signal
from dataclasses import replace
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from msgspec import structs

from grader.errors import GradeError, MachineBusy, TakesLong
from grader.hiring.handed import as_submission
from grader.hiring.tasks import Capabilities, PoolSettings, Task, TaskOutcome
from grader.kit import load_kit
from grader.kit.stubs import kit_digest
from grader.sandbox.process import Sandbox
from grader.wire.imports import uncollected
from grader.wire.levels import limits_for

with uncollected():
    import torch

    from grader.grading import Options, choose_device, grade

PUT_OFF_AFTER_CPU_S = 6.0  # a hang blocks a core until then


def serve_tasks(connection: Connection, message: bytes) -> None:
    """Grade the tasks that come over a connection, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that sends tasks
    settings = msgspec.json.decode(message, type=PoolSettings)
    try:
        grader = TaskGrader(settings)
    except GradeError as error:
        connection.send_bytes(msgspec.json.encode(Capabilities(fault=str(error))))
        return
    with grader.sandbox:
        connection.send_bytes(msgspec.json.encode(grader.capabilities))
        try:
            while True:
                task = msgspec.msgpack.decode(connection.recv_bytes(), type=Task)
                connection.send_bytes(encode_outcome(grader.do(task)))
                grader.sandbox.prepare()
        except (EOFError, OSError):
            return  # the process that sends tasks is gone


def encode_outcome(outcome: TaskOutcome) -> bytes:
    """Encode an outcome as JSON, in which a number that is not finite is a string."""
    report = None if outcome.report is None else outcome.report.to_builtins()
    return msgspec.json.encode({**structs.asdict(outcome), "report": report})


class TaskGrader:
    """A sandbox, and the kit and options to grade in it with.

    Raises:
        GradeError: The device or the level of confinement is not available.
    """

    def __init__(self, settings: PoolSettings) -> None:
        self._kit = load_kit(Path(settings.kit) if settings.kit else None)
        device = choose_device(settings.device)
        limits = limits_for(settings.timeout, settings.memory, settings.gpu_sharers)
        self._options = Options(
            device=device,
            timeout=settings.timeout,
            max_mistake_sets=settings.search,
        )
        self.sandbox = Sandbox(settings.isolation, limits, on_gpu=device == "cuda")
        self.capabilities = Capabilities(
            isolation=self.sandbox.isolation,
            device=device,
            torch=str(torch.__version__),
            kit=kit_digest(self._kit),
            refused=self.sandbox.refused,
        )

    def do(self, task: Task) -> TaskOutcome:
        """Grade a task, one file at one seed; the outcome says why, if that fails or is put off."""
        exercise = self._kit.find(task.exercise)
        submission = as_submission(exercise.name, task.file, task.data, task.problem)
        try:
            patience = inf if task.was_put_off else PUT_OFF_AFTER_CPU_S
            options = replace(self._options, seed=task.seed, patience=patience)
            return TaskOutcome(
                grade(submission, exercise, options, self.sandbox), submission.source
            )
        except TakesLong:
            return TaskOutcome(put_off=True)
        except GradeError as error:
            return TaskOutcome(fault=str(error), busy=isinstance(error, MachineBusy))
