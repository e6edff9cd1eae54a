"""What goes to a process that grades, and what comes back."""

from __future__ import annotations

import msgspec

from grader.records import Report


class Settings(msgspec.Struct, frozen=True):
    """How a pool grades.

    Attributes:
        kit: The kit's folder; empty for the installed one.
        isolation: A level of confinement, or ``auto``.
        device: Where tensors lie.
        timeout: Of one check, in seconds.
        memory: Of a submission, in MiB.
        search: How many sets of mistakes are tried for a diagnosis.
        gpu_sharers: Processes that grade on the same GPU, where they grade on one.
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
        file: What was handed in, as it is called in a report.
        data: Its bytes; empty where there is none.
        problem: Why it cannot be tried; empty where it can.
        note: Where the file was found, if under another name.
        unread: Whether there was something that could not be read.
        is_late: Whether it was begun before, and nobody waits for it any more.
    """

    candidate: str
    exercise: str
    seed: int
    file: str
    data: bytes
    problem: str = ""
    note: str = ""
    unread: bool = False
    is_late: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """What came of a task.

    Attributes:
        report: None where it could not be graded, through no fault of the submission.
        source: That was graded.
        fault: Why it could not be graded.
        busy: Whether that is because the machine had no time for it.
        late: Whether it takes long, and is to be begun again once the others are done.
    """

    report: Report | None = None
    source: str = ""
    fault: str = ""
    busy: bool = False
    late: bool = False


class Capabilities(msgspec.Struct, frozen=True):
    """What a process of a pool has found on its machine.

    Attributes:
        device: Where tensors lie, once ``auto`` is settled.
        torch: Its version.
        kit: The digest of what it judges by.
        refused: Why each stronger level of confinement is not available there.
        fault: Why it cannot grade; empty where it can.
    """

    isolation: str = ""
    device: str = ""
    torch: str = ""
    kit: str = ""
    refused: dict[str, str] = {}
    fault: str = ""
