"""grade(submission, exercise, options) -> Report: what every command calls."""

from __future__ import annotations

import platform
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Any

import torch

from grader import __version__
from grader.attention.telling import DiagnosedChecks, diagnose
from grader.diagnosis.catalogue import Mistake
from grader.diagnosis.crashes import explain_exception
from grader.errors import GradeError
from grader.kit import Exercise
from grader.kit.static_checks import check_source
from grader.records import AttentionMap, Explain, OwnTry, Report
from grader.records.progress import OnProgress
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.gpu import first_gpu
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerEnded, WorkerTimeout
from grader.submission import SourceProblem, Submission, escape_undecodable, parse
from grader.submission.notebook.slicing import only_needed
from grader.suite.case import Case
from grader.suite.compare import CheckFailed
from grader.suite.plugin import SuitePlugin
from grader.suite.runner import one_thread, suite_runner
from grader.wire.levels import BUDGET_IN_TIMEOUTS
from grader.wire.messages import Rules

PARTS_SHOWN_IN_MAPS = {"score", "scale", "mask", "softmax"}


@dataclass(frozen=True)
class Options:
    """The options of a grading.

    Attributes:
        seed: Seed from which every input is drawn; None for a fresh one.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        timeout: Limit of one check, in seconds of the submission's processor time.
        patience: Seconds of processor time after which the grading raises ``TakesLong``.
        explain: How much the report tells of the mistake behind a failure; None for the
            exercise's own setting.
        maps: Whether to show attention maps even where nothing is wrong with them.
        only: Names of the checks to run; None for all.
        stop_at_first_lost: Whether to stop after the first check that is lost.
        max_mistake_sets: How many sets of mistakes to try at most; None for the usual number.
        case: Called with the first comparison that failed, or with None if none did.
        progress: Called with how far the grading is, from the thread that runs the checks.
    """

    seed: int | None = None
    device: str = "cpu"
    timeout: float = 10.0
    patience: float = inf
    explain: Explain | None = None
    maps: bool = False
    only: tuple[str, ...] | None = None
    stop_at_first_lost: bool = False
    max_mistake_sets: int | None = None
    case: Callable[[Case | None], object] | None = None
    progress: OnProgress | None = None


def grade(submission: Submission, exercise: Exercise, options: Options, sandbox: Sandbox) -> Report:
    """Run an exercise's suite on a submission and return the report.

    Args:
        submission: The source to grade; of a notebook, only what the entry points need is run.
        exercise: The exercise to grade the submission as.
        options: The options of the grading.
        sandbox: The sandbox that runs the submission; one serves many gradings.

    Raises:
        GradeError: The requested device is not there, or the exercise lies where a submission
            may read it.
        GraderFault: The suite or the machine failed; the submission is not to blame.
        MachineBusy: The machine had no time for the submission.
        TakesLong: The checks took longer than ``options.patience``.
        KeyboardInterrupt: Ctrl-C during the checks.
    """
    explain = exercise.explain if options.explain is None else options.explain
    device = choose_device(options.device, sandbox.on_gpu)
    seed = draw_seed() if options.seed is None else options.seed
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    start_s = time.monotonic()
    trimmed = only_needed(submission, exercise.entry_points)
    session = _new_session(trimmed, exercise, options, device, sandbox)
    try:
        _start_loading(session, trimmed, exercise)
        runner = suite_runner(exercise.suite)
        checks = runner.run(
            session, seed, options.progress, options.only, options.stop_at_first_lost
        )
        session.budget.be_patient()
        if options.case is not None:
            source = exercise.solution.read_text(encoding="utf-8")
            options.case(runner.plugin.first_case(source))
        diagnosed = DiagnosedChecks(checks)
        maps: list[AttentionMap] = []
        with suppress(SourceProblem):  # a forbidden use that shows only as code runs; see below
            if explain is not Explain.NOTHING:
                diagnosed = diagnose(
                    checks, runner.plugin, session, exercise, explain, options.max_mistake_sets
                )
            maps = (
                [] if session.budget.judging_is_over else _maps(runner.plugin, diagnosed, options)
            )
        if session.broken_rule is not None:  # earns nothing, not even for earlier checks
            diagnosed, maps = DiagnosedChecks(runner.run(session, seed)), []
    finally:
        session.close()
    if any(diagnosed.mistakes) and not session.budget.judging_is_over:
        diagnosed = diagnosed.with_following(runner, exercise, sandbox.stop, seed, device)
    runner.let_go()
    sandbox.wait_for_ends()
    problem, line = _problem(session, options.timeout)
    if isinstance(session.load_error, SubmissionError) and explain is Explain.CAUSE:
        problem = (
            f"{problem}\n{explain_exception(session.load_error.fault, trimmed.source)}".strip()
        )
    return Report(
        exercise=exercise.name,
        submission="�".join(escape_undecodable(str(submission.path)).splitlines()),
        sha256=submission.sha256,
        checks=tuple(diagnosed.checks),
        seed=seed,
        device=device,
        isolation=sandbox.isolation,
        started=started,
        seconds=round(time.monotonic() - start_s, 3),
        versions=_versions(),
        problem=problem,
        problem_line=line,
        output=session.said_on_load or "",
        cause=diagnosed.cause,
        diagnosis=tuple(tuple(one.name for one in names) for names in diagnosed.mistakes),
        maps=tuple(maps),
        cells=submission.cells,
        refused=sandbox.refused,
        begins_at=exercise.begins_at,
    )


def try_on(
    submission: Submission,
    exercise: Exercise,
    own: Mapping[str, Any],
    sizes: Mapping[str, int],
    options: Options,
    sandbox: Sandbox,
) -> OwnTry:
    """Run a submission on a person's own inputs; return its outputs beside the right ones.

    Args:
        submission: The source to run, as for ``grade``.
        exercise: The exercise, as for ``grade``.
        own: Values of inputs by name: numbers, or lists of numbers.
        sizes: Sizes by tensor letter, where the inputs do not determine them.
        options: Options, of which seed, device and timeout are used.
        sandbox: The sandbox that runs the submission.

    Raises:
        GradeError: The exercise has no such inputs, or ``grade`` would raise this too.
        SourceProblem: The source breaks a rule.
        SubmissionError: The submission raised an exception.
        SubmissionRefused: The submission returned something that cannot be inspected.
        WorkerEnded: The submission's worker crashed, exited or took too long.
    """
    device = choose_device(options.device, sandbox.on_gpu)
    seed = draw_seed() if options.seed is None else options.seed
    trimmed = only_needed(submission, exercise.entry_points)
    session = _new_session(trimmed, exercise, options, device, sandbox)
    try:
        _start_loading(session, trimmed, exercise)
        return suite_runner(exercise.suite).try_on(session, seed, own, sizes)
    finally:
        session.close()


def draw_seed() -> int:
    """Draw a fresh seed, which nobody can guess."""
    return secrets.randbits(32)


def _maps(plugin: SuitePlugin, diagnosed: DiagnosedChecks, options: Options) -> list[AttentionMap]:
    """Return all attention maps if the options ask for them; otherwise those that are wrong."""
    mistakes = diagnosed.mistakes[0] if diagnosed.mistakes else ()
    parts = {one.part for one in mistakes if isinstance(one, Mistake)}
    if not options.maps and (
        not parts & PARTS_SHOWN_IN_MAPS or parts - PARTS_SHOWN_IN_MAPS - {"drop", "learn"}
    ):
        return []  # where values are mixed, merged or projected wrongly, no map can be found
    try:
        with one_thread():
            found = plugin.maps()
    except (SubmissionError, SubmissionRefused, WorkerEnded, CheckFailed, RuntimeError):
        return []  # torch may refuse to compute with the submission's outputs
    return found if options.maps else [one for one in found if one.wrong]


def choose_device(wanted: str, on_gpu: bool = True) -> str:
    """Return the device to grade on; ``auto`` takes a GPU where there is one.

    Args:
        wanted: Name of the device, as in ``Options``.
        on_gpu: Whether workers are given what CUDA needs.

    Raises:
        GradeError: This machine has no such device.
    """
    cuda = first_gpu() is not None and torch.cuda.is_available()
    there = {"cpu": True, "cuda": cuda, "mps": torch.mps.is_available()}
    if wanted == "auto":
        there["cuda"] = cuda and on_gpu
        return next(name for name in ("cuda", "mps", "cpu") if there[name])
    if not there.get(wanted):
        known = ", ".join(f"`{name}`" for name, is_there in there.items() if is_there)
        raise GradeError(
            f"this machine has no device `{wanted}` that torch can use; it has {known}"
        )
    return wanted


def _refuse_readable_kit(exercise: Exercise, sandbox: Sandbox) -> None:
    for path in (exercise.suite, exercise.solution):
        if folder := sandbox.reveals(path):
            raise GradeError(
                f"`{path}` lies in `{folder}`, which submissions may read: move the kit out of "
                "the folders that hold libraries"
            )


def _new_session(
    trimmed: Submission, exercise: Exercise, options: Options, device: str, sandbox: Sandbox
) -> Session:
    _refuse_readable_kit(exercise, sandbox)
    rules = Rules(tuple(sorted(exercise.forbidden)), exercise.operations)
    budget = options.timeout * BUDGET_IN_TIMEOUTS
    limits = (options.timeout, budget, rules)
    return Session(sandbox, trimmed, *limits, device=device, patience=options.patience)


def _start_loading(session: Session, submission: Submission, exercise: Exercise) -> None:
    """Start loading the submission in a worker, unless its source breaks a rule.

    The suite is collected meanwhile.
    """
    try:
        if submission.problem:
            raise SourceProblem(submission.problem)
        check_source(parse(submission), exercise.entry_points, exercise.forbidden, exercise.imports)
    except SourceProblem as problem:
        session.refuse(problem)
    else:
        session.start()


def _problem(session: Session, timeout: float) -> tuple[str, int]:
    """Return why a submission cannot be tried at all, and the line; empty and 0 if it can."""
    match error := session.load_error:
        case SourceProblem():
            return str(error), error.line
        case SubmissionError():
            lines = [frame.line for frame in error.fault.frames]
            said = f"{error.fault.type}: {error.fault.message}".replace("\n", "\n| ")
            return f"does not import: {said}", lines[-1] if lines else 0
        case WorkerTimeout():
            limit = f"it had {timeout:.3g} s"
            return f"does not import: it {error}{session.whereabouts}: {limit}", 0
        case WorkerEnded():
            return f"does not import: it {error}", 0
    return "", 0


def _versions() -> dict[str, str]:
    return {
        "attention-drills": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "platform": platform.platform(),
    }
