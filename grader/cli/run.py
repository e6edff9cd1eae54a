"""``grade EXERCISE``: the default command."""

from __future__ import annotations

import gc
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.names import Target, kit_option
from grader.errors import GradeError
from grader.kit import Kit, load_kit
from grader.practice.history import open_history
from grader.report import Report
from grader.sandbox.process import Sandbox
from grader.sandbox.wire.levels import BUDGET_CHECKS, LEVELS, Limits
from grader.submission import read_submission
from grader.targets import resolve

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@click.argument("targets", nargs=-1, required=True, type=Target(), metavar="EXERCISE|FILE|all...")
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda", "mps"]),
    default="auto",
    show_default=True,
    help="Where tensors lie; auto takes a GPU where there is one.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Draws every input; by default a fresh one, which the report names.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Wall-clock limit of one check; the checks together may take six times as long.",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", *LEVELS]),
    default="auto",
    show_default=True,
    help="How a submission is confined; auto is the strongest that `grade doctor` finds here.",
)
@click.option(
    "--memory",
    type=click.IntRange(64, 1 << 20),
    default=Limits().memory,
    show_default=True,
    metavar="MIB",
    help="What a submission may take beside Python and torch.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the report as JSON too; a list where several are graded.",
)
@click.option(
    "--diagnosis/--no-diagnosis",
    default=None,
    help="Say which mistake it is, or leave it to be found; by default said, except in `bugs`.",
)
@click.option("--map", "maps", is_flag=True, help="Show what it attends to, beside what it should.")
@kit_option
@click.option("--verbose", "-v", is_flag=True, help="Show more of what passed.")
@click.option("--no-color", is_flag=True, help="No colour; the variable NO_COLOR does the same.")
def run(
    targets: tuple[str, ...],
    device: str,
    seed: int | None,
    timeout: float,
    isolation: str,
    memory: int,
    json_file: Path | None,
    diagnosis: bool | None,
    maps: bool,
    kit_path: Path | None,
    verbose: bool,
    no_color: bool,
) -> int:
    """Grade one exercise or several; the default command.

    \b
    Example: grade exercise3 path/to/mine.py --seed 1
    Exit codes: 0 solved, 1 graded and not solved, 2 usage, 3 could not grade.
    """
    kit = load_kit(kit_path)
    pairs = [(exercise, read_submission(path)) for exercise, path in resolve(targets, kit)]
    reports: list[Report] = []
    limits = Limits(memory=memory, cpu=math.ceil(timeout * BUDGET_CHECKS) + 5)
    with Sandbox(isolation, limits, on_gpu=_wants_cuda(device)) as sandbox:
        # Now the template imports torch, and so does this process: side by side.
        from grader.grading import Options, grade

        gc.freeze()  # what was imported stays; no collection need look at it again
        console = _console(no_color)
        options = Options(seed, device, timeout, diagnosis=diagnosis, maps=maps)
        for exercise, submission in pairs:
            report = grade(submission, exercise, options, sandbox)
            _show(report, console, verbose, first=not reports)
            own = submission.path.resolve() == exercise.file.resolve()
            _remember(report, kit, submission.source, own)
            reports.append(report)
    if json_file is not None:
        _write_json(json_file, reports)
    return 0 if all(report.solved for report in reports) else 1


def _wants_cuda(device: str) -> bool:
    """Whether workers need the devices of CUDA; found without torch, which is not loaded yet."""
    return device == "cuda" or (device == "auto" and Path("/dev/nvidiactl").exists())


def _console(no_color: bool) -> Console:
    from rich.console import Console

    plain = no_color or bool(os.environ.get("NO_COLOR"))
    console = Console(color_system=None if plain else "auto", highlight=False)
    if not console.is_terminal:
        console.width = 10_000  # a pipe is wrapped by whoever reads it
    return console


def _show(report: Report, console: Console, verbose: bool, first: bool) -> None:
    from grader.outputs.terminal import render_report

    if not first:
        console.print()
    for part in render_report(report, verbose):
        console.print(part)


def _remember(report: Report, kit: Kit, source: str, own: bool) -> None:
    """Add a grading to the history; where that fails, the verdict stands all the same."""
    try:
        with open_history(kit) as history:
            history.record(report, source, own)
    except GradeError as error:
        click.echo(f"grade: not recorded: {error}", err=True)


def _write_json(path: Path, reports: list[Report]) -> None:
    texts = [report.to_json() for report in reports]
    text = texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise GradeError(f"`{path}` cannot be written: {error.strerror}") from None
