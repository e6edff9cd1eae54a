"""``grade EXERCISE``: the default command."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.again import is_own, lost_in_last_grading, passes_now
from grader.cli.arguments import resolve_targets
from grader.cli.case import refuse_case, write_case
from grader.cli.names import ExerciseOrFile, kit_in_use, kit_option, with_kit
from grader.cli.options import (
    device_option,
    explain_option,
    html_option,
    isolation_option,
    make_console,
    memory_option,
    no_color_option,
    timeout_option,
    wants_cuda,
    warn_of_untried_versions,
    write_text,
)
from grader.cli.saying import complain, without_workflow_commands
from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.practice.history import open_history
from grader.records import Explain, Report
from grader.sandbox.process import Sandbox
from grader.submission import read_submission
from grader.wire.imports import uncollected
from grader.wire.levels import limits_for

if TYPE_CHECKING:
    from rich.console import Console

    from grader.suite.case import Case

STDOUT = Path("-")


@click.command()
@click.argument(
    "targets", nargs=-1, required=True, type=ExerciseOrFile(), metavar="EXERCISE|FILE|all..."
)
@device_option
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Seed of every input; by default a new one each time, which the report shows.",
)
@timeout_option
@isolation_option
@memory_option
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Also write the report as JSON, a list if several are graded; `-` prints it instead.",
)
@html_option("Also write the report as a page: one HTML file.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit", "github", "pytest-json"]),
    default="text",
    show_default=True,
    help="What to print: text for people, or a format for editors and CI.",
)
@explain_option(
    "How much to say about a known mistake; by default `cause`, for a fix-it file `nothing`. "
    'A line `explain = "place"` under `[kit]` in `exercises/kit.toml` sets it for a folder.'
)
@click.option(
    "--again", is_flag=True, help="Try only what the last grading of your file lost; not recorded."
)
@click.option(
    "--map", "maps", is_flag=True, help="Show your attention maps next to the right ones."
)
@click.option(
    "--case",
    "case_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the first comparison that failed as a script, to step through in a debugger.",
)
@kit_option
@click.option("--verbose", "-v", is_flag=True, help="Show every check, with more detail.")
@no_color_option
def run(
    targets: tuple[str, ...],
    device: str,
    seed: int | None,
    timeout: float,
    isolation: str,
    memory: int,
    json_file: Path | None,
    html_file: Path | None,
    form: str,
    explain: Explain | None,
    again: bool,
    maps: bool,
    case_file: Path | None,
    kit_path: Path | None,
    verbose: bool,
    no_color: bool,
) -> int:
    """Grade one exercise or several; the default command.

    \b
    Example: grade exercise3 path/to/mine.py --seed 1
    Exit codes: 0 solved, 1 graded and not solved, 2 usage, 3 could not grade.
    """
    if json_file == STDOUT:
        form, json_file = _form_for_stdout(form), None
    kit = kit_in_use(kit_path, keeps_history=True)
    pairs = [(exercise, read_submission(path)) for exercise, path in resolve_targets(targets, kit)]
    if case_file is not None:
        refuse_case(pairs, explain)
    has_report = form != "text" or json_file is not None or html_file is not None
    lost = lost_in_last_grading(pairs, kit, has_report) if again else {}
    warn_of_untried_versions()
    graded: list[tuple[Report, str]] = []
    steps: list[str] = []
    limits = limits_for(timeout, memory)
    with Sandbox(isolation, limits, on_gpu=wants_cuda(device)) as sandbox:
        # The zygote is importing torch now, and this import does the same here, in parallel.
        with uncollected():
            from grader.grading import Options, grade
            from grader.outputs.live_line import live_line

        out = make_console(no_color)
        cases: list[Case | None] = []
        keep = None if case_file is None else cases.append
        options = Options(seed, device, timeout, explain=explain, maps=maps, case=keep)
        for exercise, submission in pairs:
            if again:
                last_seed, only = lost[exercise.name]
                options = replace(options, seed=last_seed if seed is None else seed, only=only)
            with live_line(exercise.name) as progress:
                shown = replace(options, progress=progress)
                report = grade(submission, exercise, shown, sandbox)
            steps.append(_next_step(report, kit, exercise, kit_path))
            try:
                if form == "text":
                    _show(report, out, verbose, steps, again)
            finally:  # also if nobody reads on, as `head` does
                if not again:
                    record_in_history(report, kit, submission.source, is_own(exercise, submission))
            graded.append((report, submission.source))
    reports = [report for report, _ in graded]
    if form != "text":
        click.echo(_rendered(reports, form), nl=False)
    elif len(reports) > 1 and not again:
        from grader.outputs.summary import render_summary

        click.echo("\n" + "\n".join(render_summary(reports)))
    _write_files(graded, steps, json_file, html_file)
    if case_file is not None:
        write_case(case_file, cases[0], reports[0], pairs[0][1])
    is_done = passes_now if again else attrgetter("solved")
    return 0 if all(map(is_done, reports)) else 1


def _write_files(
    graded: list[tuple[Report, str]],
    steps: list[str],
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Write the reports to the JSON and HTML files that were asked for."""
    if json_file is not None:
        write_text(json_file, _rendered([report for report, _ in graded], "json"))
    if html_file is not None:
        from grader.outputs.html import report_page

        write_text(html_file, report_page(graded, steps))


def _form_for_stdout(form: str) -> str:
    """Return the output format that `--json -` sets; raise if `--format` asks for another."""
    if form not in ("text", "json"):
        raise GradeError(f"`--json -` and `--format {form}` both want standard output; name a file")
    return "json"


def _next_step(report: Report, kit: Kit, exercise: Exercise, kit_path: Path | None) -> str:
    """Return the advice on what to do next, given the report and the hints already shown."""
    from grader.outputs.phrases import next_step

    try:
        with open_history(kit, to_write=False) as history:
            left = history.hints(exercise.name) < len(exercise.hints)
    except GradeError:  # `record_in_history` reports this one when it records the grading
        left = True
    as_given = report.sha256[: len(exercise.digest)] in exercise.stub_digests
    return next_step(report, as_given, left, with_kit("", kit_path))


def _rendered(reports: list[Report], form: str) -> str:
    """Return the reports as text in a format for editors and CI."""
    from grader.outputs.github import render_github
    from grader.outputs.junit import render_junit
    from grader.outputs.pytest_json import render_pytest_json
    from grader.outputs.sanitise import escape_invisible

    if form == "json":
        texts = [escape_invisible(report.to_json()) for report in reports]
        return (texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]") + "\n"
    renders = {"junit": render_junit, "github": render_github, "pytest-json": render_pytest_json}
    return renders[form](reports)


def _show(report: Report, console: Console, verbose: bool, steps: list[str], again: bool) -> None:
    from grader.outputs.terminal import render_report

    with without_workflow_commands():
        if len(steps) > 1:
            console.print()
        for part in render_report(report, verbose, to_do=steps[-1], only_lost_checks=again):
            console.print(part)


def record_in_history(report: Report, kit: Kit, source: str, own: bool) -> None:
    """Add a grading to the history; if that fails, warn and let the verdict stand."""
    try:
        with open_history(kit) as history:
            history.record(report, source, own)
    except GradeError as error:
        complain(f"not recorded: {error}")
