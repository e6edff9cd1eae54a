"""The messages that go to a grading process, and those that come back."""

from __future__ import annotations

import msgspec

from grader.records import Report


class PoolSettings(msgspec.Struct, frozen=True):
    """How a pool grades.

    Attributes:
        kit: The kit's folder; empty for the installed one.
        isolation: A level of confinement, or ``auto``.
        device: The device on which tensors lie.
        timeout: The time limit of one check, in seconds.
        memory: The memory limit of a submission, in MiB.
        search: How many sets of mistakes are tried for a diagnosis.
        gpu_sharers: How many processes grade on the same GPU, where they grade on one.
    """

    kit: str
    isolation: str
    device: str
    timeout: float
    memory: int
    search: int
    gpu_sharers: int = 1


class Task(msgspec.Struct, frozen=True):
    """One grading to be done.

    Attributes:
        file: The name of the file that was handed in, as a report has it.
        data: The file's bytes; empty where there is no file.
        problem: Why the file cannot be tried; empty where it can.
        note: Where the file was found, if under another name.
        unread: Whether there was a file that could not be read.
        was_put_off: Whether the task was begun before and put off, so that it may now take long.
    """

    candidate: str
    exercise: str
    seed: int
    file: str
    data: bytes
    problem: str = ""
    note: str = ""
    unread: bool = False
    was_put_off: bool = False


class TaskOutcome(msgspec.Struct, frozen=True):
    """The outcome of a task.

    Attributes:
        report: The report; None where the task could not be graded, through no fault of the
            submission.
        source: The source that was graded.
        fault: Why the task could not be graded.
        busy: Whether that is because the machine had no time for it.
        put_off: Whether the task takes long, and is to be begun again once the others are done.
    """

    report: Report | None = None
    source: str = ""
    fault: str = ""
    busy: bool = False
    put_off: bool = False


class Capabilities(msgspec.Struct, frozen=True):
    """What a process of a pool has found on its machine.

    Attributes:
        device: The device on which tensors lie, once ``auto`` is settled.
        torch: The version of torch.
        kit: The digest of the suites and rules by which the kit judges.
        refused: Why each stronger level of confinement is not available there.
        fault: Why the process cannot grade; empty where it can.
    """

    isolation: str = ""
    device: str = ""
    torch: str = ""
    kit: str = ""
    refused: dict[str, str] = {}
    fault: str = ""
