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
from grader.attention.telling import Told, tell
from grader.diagnosis.catalogue import Mistake
from grader.diagnosis.crashes import explain_crash
from grader.errors import GradeError
from grader.kit import Exercise
from grader.kit.static_checks import check_source
from grader.records import AttentionMap, Explain, OwnTry, Report
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.gpu import first_gpu
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerEnded, WorkerTimeout
from grader.submission import SourceProblem, Submission, parse, readable
from grader.submission.notebook.slicing import only_needed
from grader.suite.case import Case
from grader.suite.compare import CheckFailed
from grader.suite.plugin import SuitePlugin
from grader.suite.runner import one_thread, suite_runner
from grader.wire.levels import BUDGET_CHECKS
from grader.wire.messages import Rules

WEIGHING = {"score", "scale", "mask", "softmax"}  # parts whose mistakes an attention map shows


@dataclass(frozen=True)
class Options:
    """How to grade.

    Attributes:
        seed: Draws every input; None for a fresh one.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        timeout: Limit of one check, in seconds of the submission's processor time.
        patience: After how many seconds of processor time others are not to wait for it.
        explain: How much is told of the mistake behind what is wrong; None for what the exercise
            says.
        maps: Whether to show attention maps even where nothing is wrong with them.
        only: The checks that are run; None for all.
        first: Whether the first check that is lost is the last that is run.
        search: How many sets of mistakes are tried at most; None for as many as is usual.
        case: Is given the first comparison that failed, or None where there is none.
        progress: Is told after each check how many are done, and of how many.
    """

    seed: int | None = None
    device: str = "cpu"
    timeout: float = 10.0
    patience: float = inf
    explain: Explain | None = None
    maps: bool = False
    only: tuple[str, ...] | None = None
    first: bool = False
    search: int | None = None
    case: Callable[[Case | None], object] | None = None
    progress: Callable[[int, int], object] | None = None


def grade(submission: Submission, exercise: Exercise, options: Options, sandbox: Sandbox) -> Report:
    """Run an exercise's suite on a submission.

    Args:
        submission: The source to grade; of a notebook, only what the entry points need is run.
        exercise: What it is to be graded as.
        options: How.
        sandbox: Where it runs; one serves many gradings.

    Raises:
        GradeError: The device that was asked for is not there, or the exercise lies where a
            submission may read it.
        GraderFault: The suite or the machine failed; the submission is not to blame.
        MachineBusy: The machine had no time for it.
        KeyboardInterrupt: Ctrl-C during the checks.
    """
    explain = exercise.explain if options.explain is None else options.explain
    device = choose_device(options.device, sandbox.on_gpu)
    seed = draw_seed() if options.seed is None else options.seed
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    clock = time.monotonic()
    tried = only_needed(submission, exercise.entry_points)
    session = _session(tried, exercise, options, device, sandbox)
    try:
        _start(session, tried, exercise)
        runner = suite_runner(exercise.suite)
        checks = runner.run(session, seed, options.progress, options.only, options.first)
        session.be_patient()
        if options.case is not None:
            source = exercise.solution.read_text(encoding="utf-8")
            options.case(runner.plugin.first_case(source))
        told = Told(checks)
        maps: list[AttentionMap] = []
        with suppress(SourceProblem):  # that running it has brought to light
            if explain is not Explain.NOTHING:
                told = tell(checks, runner.plugin, session, exercise, explain, options.search)
            maps = [] if session.own_time_is_up else _maps(runner.plugin, told, options)
        if session.broken_rule is not None:  # it earns nothing, by what came before neither
            told, maps = Told(runner.run(session, seed)), []
    finally:
        session.close()
    if any(told.mistakes) and not session.own_time_is_up:
        told = told.with_following(runner, exercise, sandbox.stop, seed, device)
    runner.let_go()
    problem, line = _problem(session, options.timeout)
    if isinstance(session.load_error, SubmissionError) and explain is Explain.CAUSE:
        problem = f"{problem}\n{explain_crash(session.load_error.fault, tried.source)}".strip()
    return Report(
        exercise=exercise.name,
        submission=readable(str(submission.path)),
        sha256=submission.sha256,
        checks=tuple(told.checks),
        seed=seed,
        device=device,
        isolation=sandbox.isolation,
        started=started,
        seconds=round(time.monotonic() - clock, 3),
        versions=_versions(),
        problem=problem,
        problem_line=line,
        output=session.said_on_load or "",
        cause=told.cause,
        diagnosis=tuple(tuple(one.name for one in names) for names in told.mistakes),
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
    """What a submission gives for inputs of one's own, beside what is right.

    Args:
        submission: As ``grade`` has it.
        exercise: Likewise.
        own: Numbers, or lists of them, by the names of inputs.
        sizes: By letter, where the inputs do not decide them.
        options: Of them seed, device and timeout.
        sandbox: Where it runs.

    Raises:
        GradeError: They are no inputs of the exercise; or as ``grade`` has it.
        SourceProblem: The source breaks a rule.
        SubmissionError: The submission raised an exception.
        SubmissionRefused: It gives what cannot be looked at.
        WorkerEnded: It crashed, exited or took too long.
    """
    device = choose_device(options.device, sandbox.on_gpu)
    seed = draw_seed() if options.seed is None else options.seed
    tried = only_needed(submission, exercise.entry_points)
    session = _session(tried, exercise, options, device, sandbox)
    try:
        _start(session, tried, exercise)
        return suite_runner(exercise.suite).try_on(session, seed, own, sizes)
    finally:
        session.close()


def draw_seed() -> int:
    """A fresh seed, which nobody can guess."""
    return secrets.randbits(32)


def _maps(plugin: SuitePlugin, told: Told, options: Options) -> list[AttentionMap]:
    """The attention maps that were asked for, or that show what is wrong."""
    mistakes = told.mistakes[0] if told.mistakes else ()
    parts = {one.part for one in mistakes if isinstance(one, Mistake)}
    if not options.maps and (not parts & WEIGHING or parts - WEIGHING - {"drop", "learn"}):
        return []  # with what is mixed, merged or projected wrong, no map can be recovered
    try:
        with one_thread():
            found = plugin.maps()
    except (SubmissionError, SubmissionRefused, WorkerEnded, CheckFailed, RuntimeError):
        return []  # also where torch refuses to compute with what came
    return found if options.maps else [one for one in found if one.wrong]


def choose_device(wanted: str, on_gpu: bool = True) -> str:
    """The device to grade on; ``auto`` takes a GPU where there is one.

    Args:
        wanted: As ``Options`` has it.
        on_gpu: Whether workers are given what CUDA needs.

    Raises:
        GradeError: It is not there.
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


def _expect_hidden(exercise: Exercise, sandbox: Sandbox) -> None:
    for path in (exercise.suite, exercise.solution):
        if folder := sandbox.reveals(path):
            raise GradeError(
                f"`{path}` lies in `{folder}`, which submissions may read: move the kit out of "
                "the folders that hold libraries"
            )


def _session(
    tried: Submission, exercise: Exercise, options: Options, device: str, sandbox: Sandbox
) -> Session:
    _expect_hidden(exercise, sandbox)
    rules = Rules(tuple(sorted(exercise.forbidden)), exercise.operations)
    budget = options.timeout * BUDGET_CHECKS
    limits = (options.timeout, budget, rules)
    return Session(sandbox, tried, *limits, device=device, patience=options.patience)


def _start(session: Session, submission: Submission, exercise: Exercise) -> None:
    """Let a worker load the submission while the suite is collected, unless it breaks a rule."""
    try:
        if submission.problem:
            raise SourceProblem(submission.problem)
        check_source(parse(submission), exercise.entry_points, exercise.forbidden, exercise.imports)
    except SourceProblem as problem:
        session.refuse(problem)
    else:
        session.start()


def _problem(session: Session, timeout: float) -> tuple[str, int]:
    """Why a submission cannot be tried at all, and the line; empty and 0 if it can."""
    match error := session.load_error:
        case SourceProblem():
            return str(error), error.line
        case SubmissionError():
            lines = [frame.line for frame in error.fault.frames]
            said = f"{error.fault.type}: {error.fault.message}".replace("\n", "\n| ")
            return f"does not import: {said}", lines[-1] if lines else 0
        case WorkerTimeout():
            limit = f"it had {timeout:.3g} s; `--timeout SECONDS` gives it more"
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
