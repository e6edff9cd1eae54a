"""The beginning of a batch: its folder, processes and seeds, and the settings of all results."""

from __future__ import annotations

from pathlib import Path

from grader import __version__
from grader.errors import GradeError
from grader.hiring.batch import choose_seeds
from grader.hiring.batch_records import BatchSettings
from grader.hiring.cluster import Cluster
from grader.hiring.memory import memory_to_take
from grader.hiring.process_pool import (
    BASE_MIB,
    BASE_ON_GPU_MIB,
    GradingPool,
    processes_that_fit,
)
from grader.hiring.roster import Roster
from grader.hiring.sent import SentWork
from grader.hiring.store import BatchStore
from grader.hiring.takehome import GradingRules
from grader.hiring.tasks import Capabilities, PoolSettings
from grader.sandbox.gpu import first_gpu

MAX_MISTAKE_SETS = 2_000  # tried per grading: a fifth of what a single grading tries


def pool_settings(rules: GradingRules, isolation: str, kit: Path | None) -> PoolSettings:
    """Return how the processes of a batch grade.

    Args:
        rules: What the take-home says of it.
        isolation: A level of confinement, or ``auto``.
        kit: The kit's folder; None for the installed one.
    """
    return PoolSettings(
        str(kit or ""), isolation, rules.device, rules.timeout, rules.memory, MAX_MISTAKE_SETS
    )


def pool_for(
    settings: PoolSettings, jobs: int | None, address: str | None
) -> GradingPool | Cluster:
    """Return a pool of grading processes on this machine or on a Ray cluster.

    Args:
        settings: How they grade.
        jobs: How many processes; None for as many as there are cores and memory for.
        address: The address of a Ray cluster, ``local`` for one of its own; None for none.
    """
    if address is None:
        return GradingPool(settings, jobs or _processes_here(settings))
    if address == "local":
        jobs = jobs or _processes_here(settings)
    base = BASE_ON_GPU_MIB if settings.device == "cuda" else BASE_MIB
    return Cluster(settings, address, jobs, settings.memory + base)


def _processes_here(settings: PoolSettings) -> int:
    gpu = first_gpu() if settings.device in ("auto", "cuda") else None
    return processes_that_fit(settings.memory, memory_to_take(), gpu)


def begin_batch(
    store: BatchStore,
    sent: SentWork,
    roster: Roster,
    settings: PoolSettings,
    found: Capabilities,
    submissions: Path,
) -> tuple[int, ...]:
    """Begin a batch in its store, or go on with it as it was begun; return its seeds.

    Raises:
        GradeError: The batch was begun otherwise, or the list names somebody who was never there.
    """
    seeds = choose_seeds(sent.rules.seeds, store.known_settings(), sent.seed)
    store.begin_or_resume(
        BatchSettings(
            takehome=sent.identity,
            exercises=tuple(sent.weights),
            seeds=seeds,
            isolation=found.isolation,
            device=found.device,
            timeout=settings.timeout,
            memory=settings.memory,
            grader=__version__,
            torch=found.torch,
            kit=found.kit,
            submissions=_submissions_folder(submissions, store),
        )
    )
    store.check_and_record_names(roster.listed_names, roster.names)
    store.keep_weights(sent.weights)
    return seeds


def _submissions_folder(submissions: Path, store: BatchStore) -> str:
    """Return the folder under which a batch records its submissions.

    Normally that is ``submissions``. If the folder recorded before is gone, its path is kept:
    ``submissions`` may be the same folder, moved.
    """
    known = store.known_settings()
    if known is not None and not Path(known.submissions).is_dir():
        return known.submissions
    return str(submissions.resolve())


def expect_own_folder(folder: Path, submissions: Path) -> None:
    """Check that a folder for results, should it lie within the submissions, is nobody's of them.

    Raises:
        GradeError: It lies there and holds what no batch here has begun.
    """
    place = folder.parent.resolve() / folder.name
    if not place.is_relative_to(submissions.resolve()):
        return
    if place.is_symlink() or (place.is_dir() and any(place.iterdir()) and not _is_begun(place)):
        raise GradeError(
            f"`{folder}` lies in `{submissions}`, and no batch was begun in it: somebody handed it "
            "in; choose another folder with --out"
        )


def _is_begun(folder: Path) -> bool:
    path = folder / "results.sqlite"
    if not path.is_file():
        return False
    with BatchStore(path) as store:
        return store.was_begun_here()
