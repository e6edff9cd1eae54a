"""What a batch keeps: its settings, and each grading."""

from __future__ import annotations

import msgspec

from grader.records import Report


class BatchSettings(msgspec.Struct, frozen=True):
    """The settings of every result of a batch, which stay the same when the batch is resumed.

    Attributes:
        takehome: What was sent, as TOML, without weights and rules; empty for plain exercises.
        exercises: The names of the exercises.
        seeds: The seeds of the gradings, the same for all candidates.
        isolation: The level of confinement.
        device: The device on which tensors lay.
        timeout: The time limit of one check, in seconds.
        memory: The memory limit of a submission, in MiB.
        grader: The version of this package.
        torch: The version of torch.
        kit: The digest of the suites and rules by which the kit judges.
        submissions: The folder that everything was handed in to.
    """

    takehome: str
    exercises: tuple[str, ...]
    seeds: tuple[int, ...]
    isolation: str
    device: str
    timeout: float
    memory: int
    grader: str
    torch: str
    kit: str
    submissions: str = ""


class GradingResult(msgspec.Struct, frozen=True):
    """One grading of a batch.

    Attributes:
        candidate: The candidate's key, which stays the same whatever the name is.
        note: Where the file was found, if under another name.
        unread: Whether there was a file that could not be read.
    """

    candidate: str
    exercise: str
    seed: int
    file: str
    report: Report
    source: str
    note: str = ""
    unread: bool = False
