"""``grade try EXERCISE --x NUMBERS``: run a file on an input of the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from grader.cli.arguments import resolve_targets
from grader.cli.names import ExerciseOrFile, kit_in_use, kit_option
from grader.cli.options import (
    device_option,
    make_console,
    no_color_option,
    timeout_option,
    wants_cuda,
)
from grader.errors import GradeError
from grader.records import Fault
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.process import Sandbox
from grader.sandbox.workers import WorkerEnded
from grader.submission import SourceProblem, Submission, read_submission
from grader.wire.levels import limits_for

MAX_INPUT_CHARS = 100_000


class NumbersParam(click.ParamType):  # type: ignore[type-arg]  # it converts to anything
    """A number, or nested lists of numbers, as JSON."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Decode the JSON text into a number or lists of numbers."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value[: MAX_INPUT_CHARS + 1], parse_constant=float)
        except (ValueError, RecursionError):
            self.fail(f"`{value[:40]}` is no list of numbers, such as [[1, 0], [0, 1]]", param, ctx)


class SizeParam(click.ParamType):  # type: ignore[type-arg]  # it converts to a pair
    """The size of a tensor dimension, as a letter and a number: ``H=2``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the letter and the size."""
        letter, _, size = value.partition("=") if isinstance(value, str) else (*value, "")
        if not size.isdecimal() or not 0 < int(size[:6]) <= 512:
            self.fail(f"`{value}` is no size: a letter and 1 to 512, such as H=2", param, ctx)
        return letter, int(size)


@click.command("try")
@click.argument("target", nargs=-1, required=True, type=ExerciseOrFile(), metavar="EXERCISE [FILE]")
@click.option("--x", type=NumbersParam(), help="The input `x`, as lists: [[1, 0], [0, 1]].")
@click.option(
    "--give",
    nargs=2,
    type=(str, NumbersParam()),
    multiple=True,
    metavar="NAME NUMBERS",
    help="Another input by its name; what is needed and not given is drawn.",
)
@click.option(
    "--size",
    type=SizeParam(),
    multiple=True,
    metavar="LETTER=N",
    help="A size that the inputs do not decide, such as H=2 for two heads.",
)
@device_option
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Draws the weights.")
@timeout_option
@kit_option
@no_color_option
def try_on(
    target: tuple[str, ...],
    x: Any,
    give: tuple[tuple[str, Any], ...],
    size: tuple[tuple[str, int], ...],
    device: str,
    seed: int | None,
    timeout: float,
    kit_path: Path | None,
    no_color: bool,
) -> int:
    """Try your file on an input of your own: what it gives, and what is right.

    \b
    Example: grade try exercise3 --x "[[1, 0], [0, 1]]"
    Exit codes: 0 as it should be, 1 not, 2 usage, 3 could not try.
    """
    kit = kit_in_use(kit_path)
    pairs = resolve_targets(target, kit)
    if len(pairs) != 1:
        raise GradeError("`grade try` tries one file at a time")
    own = {**({} if x is None else {"x": x}), **dict(give)}
    if not own:
        raise GradeError('there is nothing to try: give an input, such as --x "[[1, 0], [0, 1]]"')
    [(exercise, path)] = pairs
    submission = read_submission(path)
    with Sandbox("auto", limits_for(timeout), on_gpu=wants_cuda(device)) as sandbox:
        from grader import grading  # this imports torch while the zygote does so too
        from grader.outputs.own_try import render_failure, render_own_try

        drawn = grading.draw_seed() if seed is None else seed
        options = grading.Options(drawn, device, timeout)
        try:
            tried = grading.try_on(submission, exercise, own, dict(size), options, sandbox)
        except (SourceProblem, SubmissionError, SubmissionRefused, WorkerEnded) as problem:
            err = make_console(no_color, stderr=True)
            for line in render_failure(_failure_message(problem, submission)):
                err.print(line)
            return 1
    out = make_console(no_color)
    for part in render_own_try(tried, drawn):
        out.print(part)
    return 1 if tried.wrong else 0


def _failure_message(problem: Exception, submission: Submission) -> str:
    """Return the message for a submission that gave no result."""
    if isinstance(problem, SourceProblem):
        return f"{submission.path}:{problem.line}: {problem}"
    if isinstance(problem, SubmissionError):
        return _exception_message(problem.fault, submission)
    return f"{submission.path}: it {problem}"


def _exception_message(fault: Fault, submission: Submission) -> str:
    from grader.diagnosis.crashes import explain_exception

    if fault.type == "NotImplementedError":
        return f"{submission.path}: what is tried is not written yet"
    line = f":{fault.frames[-1].line}" if fault.frames else ""
    why = explain_exception(fault, submission.source)
    said = f"{fault.type}: {fault.message}".replace("\n", "\n| ")
    return f"{submission.path}{line}: {said}" + (f"\n{why}" if why else "")
