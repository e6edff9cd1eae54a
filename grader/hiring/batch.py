"""A batch: every candidate's files are graded once for each seed, whatever interrupts it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from grader.errors import GradeError
from grader.hiring.batch_records import BatchSettings, GradingResult
from grader.hiring.candidates import Candidate
from grader.hiring.handed import as_submission
from grader.hiring.store import BatchStore
from grader.hiring.takehome import SEED_BITS
from grader.hiring.tasks import Task, TaskOutcome
from grader.kit import Exercise
from grader.kit.stubs import shipped_stub
from grader.outputs.sanitise import composed

GradingKey = tuple[str, str, int]  # candidate, exercise, seed


@dataclass
class Progress:
    """The progress of a batch.

    Attributes:
        total: The number of gradings of the whole batch.
        done: The number of gradings in the store.
        before: The number of gradings that were in the store when this run began.
        faults: Tasks that could not be graded, through no fault of the submission, and why.
        began: When this run began, on the monotonic clock, in seconds.
    """

    total: int
    done: int
    before: int
    faults: list[tuple[Task, str]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(
        cls, candidates: Sequence[Candidate], seeds: Sequence[int], store: BatchStore
    ) -> Progress:
        """Return the progress of these candidates' gradings, one for each file and seed."""
        keys = {(c.key, e, seed) for c in candidates for e in c.handed for seed in seeds}
        before = len(keys & store.done().keys())
        return cls(len(keys), before, before)

    @property
    def rate(self) -> float:
        """Gradings a second, in this run."""
        return (self.done - self.before) / max(time.monotonic() - self.began, 1e-9)


def select_candidates(everyone: Sequence[Candidate], only: Collection[str]) -> list[Candidate]:
    """Return the candidates with these names or files; all candidates where none is given.

    Raises:
        GradeError: A name belongs to no candidate, or is one's name and another's file.
    """
    only = {composed(name) for name in only}
    for word in sorted(only):
        found = [one for one in everyone if word in (one.name, one.key)]
        if not found:
            raise GradeError(f"there is no candidate `{word}`; names are those of the files")
        if len(found) > 1:
            which = " or ".join(f"`{one.key if one.name == word else one.name}`" for one in found)
            raise GradeError(f"`{word}` is one candidate's name and another's file; say {which}")
    return [one for one in everyone if not only or {one.name, one.key} & only]


def choose_seeds(
    count: int, begun: BatchSettings | None, packed: int | None = None
) -> tuple[int, ...]:
    """Return a seed for each grading of a file; a resumed batch keeps those that it began with.

    Args:
        count: The number of gradings of each file.
        begun: The settings that the batch was begun with; None for a new one.
        packed: The take-home's seed, the same in each of its batches; None to draw one.
    """
    if begun is not None and len(begun.seeds) == count:
        return begun.seeds
    first = secrets.randbits(SEED_BITS) if packed is None else packed
    return tuple(range(first, first + count))


def remaining_tasks(
    candidates: Sequence[Candidate], seeds: Sequence[int], done: Collection[GradingKey]
) -> Iterator[Task]:
    """Yield the gradings that are still to be done; each file is read when its turn comes."""
    for candidate in candidates:
        for exercise, handed in candidate.handed.items():
            left = [seed for seed in seeds if (candidate.key, exercise, seed) not in done]
            if left:
                data, problem = handed.read_or_explain()
                for seed in left:
                    yield Task(
                        *(candidate.key, exercise, seed, handed.name, data, problem),
                        note=handed.note,
                        unread=handed.unread or bool(problem and handed.name),
                    )


def changed_files(
    candidates: Sequence[Candidate], done: Mapping[GradingKey, str]
) -> Iterator[tuple[Candidate, str]]:
    """Yield the candidates and exercises whose file is no longer the one that was graded."""
    known = {(name, exercise): digest for (name, exercise, _), digest in done.items()}
    for candidate in candidates:
        for exercise, handed in candidate.handed.items():
            digest = known.get((candidate.key, exercise))
            if digest is None:
                continue  # the file is yet to be graded, and is read then
            data, problem = handed.read_or_explain()
            if digest != as_submission(exercise, handed.name, data, problem).sha256:
                yield candidate, exercise


def forget_superseded(
    everyone: Sequence[Candidate], chosen: Sequence[Candidate], store: BatchStore
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Forget results where there was nothing to grade, if the file has changed since.

    Returns:
        These results, then the others whose file is no longer the one that was graded; each as
        the candidate's key and the exercise.
    """
    nothing = store.nothing_to_grade().keys() & {(c.key, e) for c in chosen for e in c.handed}
    found = [
        (candidate.key, exercise) for candidate, exercise in changed_files(everyone, store.done())
    ]
    again = [one for one in found if one in nothing]
    store.forget(again)
    return again, [one for one in found if one not in nothing]


def find_ungradable(
    chosen: Sequence[Candidate], store: BatchStore
) -> tuple[dict[str, str], dict[str, str]]:
    """Return why there is nothing to grade of a candidate, and which other files cannot be read.

    Both give the reason: the first by the candidate's name, the second by name and exercise.
    """
    nothing = store.nothing_to_grade()
    ungradable: dict[str, str] = {}
    unread: dict[str, str] = {}
    for one in chosen:
        found = {name: nothing[one.key, name] for name in one.handed if (one.key, name) in nothing}
        if found and len(found) == len(one.handed):
            ungradable[one.name] = next(iter(found.values()))[0]
        else:
            bad = {name: why for name, (why, is_unread) in found.items() if is_unread}
            unread |= {f"`{one.name}`, {name}": why for name, why in bad.items()}
    return ungradable, unread


def grade_all(
    grade: Callable[[Iterator[Task]], Iterator[tuple[Task, TaskOutcome]]],
    candidates: Sequence[Candidate],
    seeds: Sequence[int],
    store: BatchStore,
    progress: Progress,
    tell: Callable[[Progress], None],
) -> None:
    """Grade what is not in the store yet, and keep each result as soon as it is there.

    Gradings that take long come after all others. Those that the machine was too busy for are
    tried again at the end, one at a time.

    Args:
        grade: Grades tasks and yields them in the order in which they are done.
        candidates: The candidates, with what they handed in.
        seeds: The seeds; each file is graded once for each.
        store: Where results are kept.
        progress: The progress at the beginning, which is kept up to date.
        tell: Called with the progress after each grading.
    """
    tell(progress)
    again: list[Task] = []
    put_off: list[Task] = []
    for to_do in (remaining_tasks(candidates, seeds, store.done()), iter(put_off)):
        for task, outcome in grade(to_do):
            if outcome.put_off:
                put_off.append(structs.replace(task, was_put_off=True))
            elif outcome.busy:
                again.append(task)
            else:
                _store_outcome(task, outcome, store, progress)
                tell(progress)
    for left in again:
        for task, outcome in grade(iter([left])):
            _store_outcome(task, outcome, store, progress)
            tell(progress)


def _store_outcome(task: Task, outcome: TaskOutcome, store: BatchStore, progress: Progress) -> None:
    if outcome.report is None:
        progress.faults.append((task, outcome.fault))
        return
    report, source = outcome.report, outcome.source
    who = (task.candidate, task.exercise, task.seed, task.file)
    unread = task.unread
    if task.data and not source:  # for example empty, or not UTF-8
        unread = bool(as_submission(task.exercise, task.file, task.data).problem)
    store.add(GradingResult(*who, report, source, task.note, unread))
    progress.done += 1


def stub_as_sent(exercise: Exercise) -> str:
    """Return an exercise's stub as it was shipped; where that is not to be found, as it is now."""
    try:
        return shipped_stub(exercise).decode("utf-8")
    except GradeError:
        return exercise.stub.read_text(encoding="utf-8")
