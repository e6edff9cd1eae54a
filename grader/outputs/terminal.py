"""A report as a learner reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.languages import say
from grader.languages.columns import pad_to_width
from grader.outputs.hanging_line import INDENT, HangingLine
from grader.outputs.phrases import (
    MARKS,
    NOT_WRITTEN,
    beyond_what_was_given,
    counted_as_above,
    counted_by_cause,
    describe_difference,
    grouped,
    isolation_in_force,
    mark_of,
    message_lines,
    next_step,
    printed_lines,
    still_a_stub,
    where_to_read_more,
    with_place,
)
from grader.outputs.sanitise import clean
from grader.records import AttentionMap, Cause, CheckResult, Fault, Report, Verdict

VERDICT_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.TODO: "yellow",
    Verdict.ERROR: "bold magenta",
    Verdict.TIMEOUT: "bold magenta",
    Verdict.SKIP: "dim",
}
SHADES = ((0.6, "█"), (0.35, "▓"), (0.15, "▒"), (0.03, "░"))
MAP_INDENT = 4  # two maps of six keys side by side fit 40 columns
MAX_PRINTED_LINES = 5


Renderable = Text | Padding | Table | HangingLine


def render_report(
    report: Report,
    verbose: bool = False,
    brief: bool = False,
    to_do: str = "",
    more: str = "--verbose",
    only_lost_checks: bool = False,
) -> Iterator[Renderable]:
    """Yield the lines of a report.

    Args:
        report: The report to show.
        verbose: Whether to show also what passed checks printed and stand for, and the versions.
        brief: Whether to begin with the score and the checks that did not pass, only count those
            that did, and give no next step.
        to_do: The next step, where the caller knows more than the report tells.
        more: The option or key that shows what is left out.
        only_lost_checks: Whether the report has only the checks that an earlier grading lost.
    """
    if brief:
        yield _score(report)
    else:
        yield Text.assemble((report.exercise, "bold"), "  ", (clean(report.submission), "dim"))
    if report.problem:
        yield from _problem(report)
    elif report.untouched:
        yield Text(f"  {still_a_stub(report)}")
    else:
        if verbose:
            yield from _printed(report.output)
        left_out = "" if verbose else more
        if report.cause is not None:
            yield from _cause(report, report.cause, left_out)
        checks = _open_first(report.checks) if brief else report.checks
        yield from _checks(report, checks, left_out)
        if brief:
            yield from _passed(report)
    yield from render_maps(report.maps)
    if only_lost_checks:
        yield from _retried_checks(report)
    elif not brief:
        yield from _ending(report, verbose, to_do)


def _ending(report: Report, verbose: bool, to_do: str) -> Iterator[Renderable]:
    """Yield the end of a report: the score, and what to do next."""
    yield _score(report)
    if verbose:
        yield Text(" · ".join(f"{name} {v}" for name, v in report.versions.items()), style="dim")
    yield Text(f"{say('next')}: {to_do or next_step(report)}")


def _open_first(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the checks that did not pass, with those skipped or not written yet at the end."""
    later = (Verdict.TODO, Verdict.SKIP)
    return sorted(
        (check for check in checks if check.verdict is not Verdict.PASS),
        key=lambda check: check.verdict in later,
    )


def _passed(report: Report) -> Iterator[Renderable]:
    passed = [check for check in report.checks if check.verdict is Verdict.PASS]
    if passed:
        points = sum(check.points for check in passed)
        text = say(f"{len(passed)} of {len(report.checks)} checks")
        yield _row(Verdict.PASS, str(points), text)


def render_maps(maps: Sequence[AttentionMap], mine: str = "yours") -> Iterator[Renderable]:
    """Yield attention maps as shaded cells: the submission's, with heading ``mine``, then ours."""
    for one in maps:
        title = say(f"  attention {one.title}: a row for each query, a column for each key")
        yield _indented(title.strip(), indent=2)
        width = 2 * len(one.right)
        heads = [pad_to_width(say(title), width) for title in (mine, "right")]
        yield _indented(f"{heads[0]}    {heads[1]}", "dim", MAP_INDENT)
        for yours, right in zip(one.yours, one.right, strict=True):
            yield _indented(f"{_cells(yours)}    {_cells(right, is_right=True)}", indent=MAP_INDENT)
    if maps:
        legend = " ".join(f"{shade} ≥ {least:g}" for least, shade in SHADES)
        marks = {mark_of(weight) for one in maps for row in one.yours for weight in row}
        marks |= {mark_of(weight, True) for one in maps for row in one.right for weight in row}
        for mark in sorted(marks - {""}):
            legend += f"  {2 * mark} {say(MARKS[mark])}"
        yield _indented(legend, "dim", MAP_INDENT)


def _cells(row: Sequence[float], is_right: bool = False) -> str:
    return "".join(2 * (mark_of(weight, is_right) or _shade(weight)) for weight in row)


def _shade(weight: float) -> str:
    return next((shade for least, shade in SHADES if weight >= least), "·")


def _problem(report: Report) -> Iterator[Renderable]:
    first, *more = clean(report.problem).split("\n")
    yield HangingLine(with_place(report, report.problem_line, first), VERDICT_STYLES[Verdict.ERROR])
    for line in more:
        yield _theirs(say(line), "bold")
    yield from _printed(report.output)


def _cause(report: Report, cause: Cause, more: str) -> Iterator[Renderable]:
    """Yield the mistake that was found, before all else.

    ``more`` is the option or key that lists the checks that follow from it; empty if all are shown.
    """
    for text, style in ((cause.says, "bold"), (cause.advice, "")):
        yield from [_indented(say(clean(text)), style, 2)] if text else []
    if command := where_to_read_more(report):
        yield _indented(say(f"more of it: {command}"), indent=2)
    checks = [check for check in report.checks if report.following(check)]
    if checks:
        listed = say(f" ({more} lists them)") if len(checks) > 1 else f" ({more})"
        possible = sum(check.possible for check in checks)
        yield _row(
            checks[0].verdict, f"0/{possible}", counted_by_cause(checks) + (listed if more else "")
        )


def _row(verdict: Verdict, points: str, text: str) -> Table:
    """Return a line of verdict, points and text that keeps its indent where it is wrapped."""
    row = Table.grid()
    row.add_column(width=INDENT, no_wrap=True)
    row.add_column()
    head = Text.assemble("  ", (f"{verdict:<8}", VERDICT_STYLES[verdict]), f"{points:>4}  ")
    row.add_row(head, Text(text))
    return row


def _checks(report: Report, checks: Sequence[CheckResult], more: str) -> Iterator[Renderable]:
    shown = [check for check in checks if not more or not report.following(check)]
    for check, again in grouped(shown):
        yield _head(check)
        yield from _details(report, check, more)
        if again:
            yield _indented(counted_as_above(again) + (f" ({more})" if more else ""), "dim")
        yield from [] if more else [_head(one) for one in again]


def _head(check: CheckResult) -> Table:
    return _row(check.verdict, f"{check.earned}/{check.possible}", check.claim)


def _details(report: Report, check: CheckResult, more: str) -> Iterator[Renderable]:
    if check.verdict is Verdict.PASS:
        if not more:
            yield _indented(say(check.why), "dim")
            yield from _printed(check.output)
        return
    if check.verdict is Verdict.TODO:
        yield _indented(say(NOT_WRITTEN))
        return
    if check.fault is not None:
        first, *rest = map(clean, message_lines(check) or [""])
        if check.fault.frames:  # at the margin, where editors look
            yield HangingLine(with_place(report, check.fault.frames[-1].line, first))
        else:
            yield _theirs(first)
        yield from map(_theirs, rest)
    else:
        yield _indented(say(clean(check.message)))
    if check.difference is not None:
        yield _indented(describe_difference(check.difference))
    if check.fault is not None:
        yield from _fault(report, check.fault)
    if check.explanation:
        yield _indented(say(clean(check.explanation)), "bold")
    if check.verdict is Verdict.FAIL and not report.following(check):
        yield _indented(say(check.why), "dim")
    yield from _printed(check.output, more)


def _fault(report: Report, fault: Fault) -> Iterator[Renderable]:
    for frame in fault.frames:
        place = f"{clean(report.place(frame.line))} {say('in')} {clean(frame.function)}"
        yield _theirs(f"{place}: {clean(frame.source)}")
    if fault.tensors:
        listing = ", ".join(f"{clean(t.name)} {t.shape} {clean(t.dtype)}" for t in fault.tensors)
        yield _theirs(f"{say('tensors there:')} {listing}")


def _printed(output: str, more: str = "") -> Iterator[HangingLine]:
    lines = printed_lines(output)
    if len(lines) > MAX_PRINTED_LINES and more:
        left = say(f"… ({len(lines) - MAX_PRINTED_LINES} more with {more})")
        lines = [*lines[:MAX_PRINTED_LINES], left]
    for line in lines:
        yield _theirs(f"{say('printed:')} {line}", "cyan")


def _theirs(text: str, style: str = "") -> HangingLine:
    return HangingLine(text, style, INDENT)


def _indented(text: str, style: str = "", indent: int = INDENT) -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, indent), expand=False)


def _retried_checks(report: Report) -> Iterator[Renderable]:
    """Yield how many of the checks that were lost pass now, in place of the score."""
    lost = sum(check.is_lost for check in report.checks)
    of = len(report.checks)
    says = say(f"{of - lost} of {of} checks that had failed pass now")
    yield Text(f"{says}  {say('seed')} {report.seed}", "bold" if lost else "bold green")
    if not lost:
        yield Text(f"{say('next')}: {say(f'`grade {report.exercise}` tries all')}")


def _score(report: Report) -> Text:
    style = "bold green" if report.solved else "bold"
    said = [beyond_what_was_given(report), f"{say('seed')} {report.seed}", report.device]
    facts = " · ".join([*filter(None, said), isolation_in_force(report)])
    return Text.assemble(
        (f"{say('score')} ", style),
        (f"{report.earned} / {report.possible}", style),
        (f"  {facts} · {report.seconds:.2f} s", "dim"),
    )
