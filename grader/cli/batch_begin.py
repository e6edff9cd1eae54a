"""The start of ``grade batch``: the exercises sent, the worker pool, the batch's settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader import __version__
from grader.cli.options import wants_cuda
from grader.cli.saying import complain
from grader.errors import GradeError
from grader.kit import Kit
from grader.sandbox.gpu import first_gpu

if TYPE_CHECKING:
    from grader.hiring.cluster import Cluster
    from grader.hiring.process_pool import GradingPool
    from grader.hiring.store import BatchSettings, BatchStore
    from grader.hiring.tasks import Capabilities, PoolSettings

LEVELS_FOR_STRANGERS = ("full", "landlock")


def submissions_folder(submissions: Path, store: BatchStore) -> str:
    """Return the folder under which a batch records its submissions.

    Normally that is ``submissions``. If the folder recorded before is gone, its path is kept:
    ``submissions`` may be the same folder, moved.
    """
    known = store.known_settings()
    if known is not None and not Path(known.submissions).is_dir():
        return known.submissions
    return str(submissions.resolve())


def what_was_sent(
    record: Path | None, names: tuple[str, ...], kit: Kit
) -> tuple[dict[str, float], str, int | None]:
    """Return which exercises the candidates of a batch were sent.

    Args:
        record: The take-home's record that ``grade pack`` wrote; None if exercises are named.
        names: The exercises to grade, each with weight 1, if there is no take-home.
        kit: The kit that has the exercises.

    Returns:
        The weight of each exercise, in order; the record as text with every weight 1, since weights
        may change later; the take-home's seed. Without a take-home, an empty text and None.

    Raises:
        GradeError: There is neither a record nor a name, or both.
    """
    from grader.hiring.takehome import read_takehome

    if (record is None) == (not names):
        raise GradeError("say what was sent: --takehome FILE, or --exercise NAME for each")
    if record is None:
        return {kit.find(name).name: 1.0 for name in names}, "", None
    takehome = read_takehome(record, kit)
    weights = {one.exercise: one.weight for one in takehome.sent}
    return weights, takehome.unweighted().to_toml(), takehome.seed


def pool_for(
    settings: PoolSettings, jobs: int | None, memory_all: int | None, address: str | None
) -> GradingPool | Cluster:
    """Return a pool of grading processes on this machine or on a Ray cluster."""
    from grader.hiring.process_pool import (
        BASE_MIB,
        BASE_ON_GPU_MIB,
        GradingPool,
        processes_that_fit,
    )

    gpu = first_gpu() if wants_cuda(settings.device) else None
    if address is None:
        return GradingPool(settings, jobs or processes_that_fit(settings.memory, memory_all, gpu))
    from grader.hiring.cluster import Cluster

    if address == "local":
        jobs = jobs or processes_that_fit(settings.memory, memory_all, gpu)
    elif memory_all is not None:
        raise GradeError("--memory-all is for one machine; --jobs bounds a cluster")
    base = BASE_ON_GPU_MIB if settings.device == "cuda" else BASE_MIB
    return Cluster(settings, address, jobs, settings.memory + base)


def refuse_weak_isolation(wanted: str, capabilities: Capabilities) -> None:
    """Refuse an isolation level too weak for strangers' files, unless the user asked for it.

    Each stronger level that this machine lacks is named on standard error, with the reason.
    """
    for level, reason in capabilities.refused.items():
        complain(f"isolation `{level}` is not available here: {reason}")
    if wanted == "auto" and capabilities.isolation not in LEVELS_FOR_STRANGERS:
        raise GradeError(
            "this machine offers no more isolation than a process, and strangers' files need "
            "more; `grade doctor` says what is missing, --isolation process grades all the same"
        )


def batch_settings(
    capabilities: Capabilities,
    settings: PoolSettings,
    sent: str,
    exercises: tuple[str, ...],
    seeds: tuple[int, ...],
) -> BatchSettings:
    """Return the settings that all results of the batch must share."""
    from grader.hiring.store import BatchSettings

    return BatchSettings(
        takehome=sent,
        exercises=exercises,
        seeds=seeds,
        isolation=capabilities.isolation,
        device=capabilities.device,
        timeout=settings.timeout,
        memory=settings.memory,
        grader=__version__,
        torch=capabilities.torch,
        kit=capabilities.kit,
    )
