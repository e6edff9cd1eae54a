"""A report as a learner reads it in a terminal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from rich.padding import Padding
from rich.text import Text

from grader.outputs.text import clean
from grader.report import AttentionMap, CheckResult, Difference, Fault, Frame, Report, Verdict

STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.TODO: "yellow",
    Verdict.ERROR: "bold magenta",
    Verdict.TIMEOUT: "bold magenta",
    Verdict.SKIP: "dim",
}
SHADES = ((0.6, "█"), (0.35, "▓"), (0.15, "▒"), (0.03, "░"))
INDENT = 16
PRINTED_LINES = 5


def render_report(report: Report, verbose: bool = False) -> Iterator[Text | Padding]:
    """The lines of a report.

    Args:
        report: What to show.
        verbose: Whether to show also what passed checks printed and stand for, and the versions.
    """
    yield Text.assemble((report.exercise, "bold"), "  ", (clean(report.submission), "dim"))
    if report.problem:
        yield from _problem(report)
    elif report.untouched:
        yield Text(f"  still a stub: nothing to grade yet, {report.possible} points to earn")
    else:
        if verbose:
            yield from _printed(report.output, verbose)
        yield from _checks(report, verbose)
    yield from render_maps(report.maps)
    yield _score(report)
    if verbose:
        yield Text(" · ".join(f"{name} {v}" for name, v in report.versions.items()), style="dim")
    yield Text(f"next: {_next_step(report)}")


def render_maps(maps: Sequence[AttentionMap], mine: str = "yours") -> Iterator[Text | Padding]:
    """Attention maps as shaded cells, yours beside the right one; ``mine`` stands above yours."""
    for one in maps:
        yield Text(f"  attention {one.title}: a row for each query, a column for each key")
        width = 2 * len(one.right)
        heads = [f"{title:<{width}}" for title in (mine, "right")]
        yield _indented(f"{heads[0]}    {heads[1]}", "dim")
        for yours, right in zip(one.yours, one.right, strict=True):
            yield _indented(f"{_cells(yours)}    {_cells(right)}")
    if maps:
        yield _indented(f"{' '.join(f'{shade} ≥ {least:g}' for least, shade in SHADES)}", "dim")


def _cells(row: Sequence[float]) -> str:
    return "".join(2 * _shade(weight) for weight in row)


def _shade(weight: float) -> str:
    if math.isnan(weight):
        return "?"
    if not -0.01 < weight < 1.01:
        return "!"  # no share of anything
    return next((shade for least, shade in SHADES if weight >= least), "·")


def _problem(report: Report) -> Iterator[Text | Padding]:
    line = f":{report.problem_line}" if report.problem_line else ""
    where = f"{clean(report.submission)}{line}: "
    problem = clean(report.problem).replace("\n", "\n" + " " * INDENT)
    yield Text.assemble("  ", ("error ", STYLES[Verdict.ERROR]), where, problem)
    yield from _printed(report.output, verbose=True)


def _checks(report: Report, verbose: bool) -> Iterator[Text | Padding]:
    shown: set[tuple[str, tuple[Frame, ...]]] = set()  # an exception by its type and its lines
    for check in report.checks:
        fault = check.fault
        said = (fault.type, fault.frames) if fault and fault.frames else (check.message, ())
        again = check.difference is None and bool(check.message) and said in shown
        shown.add(said)
        points = f"{check.earned}/{check.possible}"
        yield Text.assemble(
            *("  ", (f"{check.verdict:<8}", STYLES[check.verdict]), f"{points:>4}  ", check.claim),
            ("  (as above)" if again else "", "dim"),
        )
        if not again:
            yield from _details(check, verbose)


def _details(check: CheckResult, verbose: bool) -> Iterator[Text | Padding]:
    if check.verdict is Verdict.PASS:
        if verbose:
            yield _indented(check.why, "dim")
            yield from _printed(check.output, verbose)
        return
    if check.verdict is Verdict.TODO:
        yield _indented("not written yet: it raises NotImplementedError")
        return
    yield _indented(clean(check.message))
    if check.difference is not None:
        yield _indented(describe_difference(check.difference))
    if check.fault is not None:
        yield from _fault(check.fault)
    if check.explanation:
        yield _indented(check.explanation, "bold")
        yield from [_indented(check.reason)] if check.reason else []
    if check.verdict is Verdict.FAIL:
        yield _indented(check.why, "dim")
    yield from _printed(check.output, verbose)


def describe_difference(difference: Difference) -> str:
    """The largest difference, where, yours and expected."""
    place = ", ".join(str(i) for i in difference.index)
    return (
        f"largest difference {difference.largest:.3g} at [{place}]: "
        f"yours {difference.yours:.6g}, expected {difference.expected:.6g}"
    )


def _fault(fault: Fault) -> Iterator[Text | Padding]:
    for frame in fault.frames:
        place = f"{clean(frame.file)}:{frame.line} in {clean(frame.function)}"
        yield _indented(f"{place}: {clean(frame.source)}")
    if fault.tensors:
        listing = ", ".join(f"{clean(t.name)} {t.shape} {clean(t.dtype)}" for t in fault.tensors)
        yield _indented(f"tensors there: {listing}")


def _printed(output: str, verbose: bool) -> Iterator[Padding]:
    groups = itertools.groupby(clean(output).strip("\n").split("\n") if output.strip() else [])
    counted = [(line, len(list(same))) for line, same in groups]
    lines = [line if count == 1 else f"{line} (× {count})" for line, count in counted]
    if len(lines) > PRINTED_LINES and not verbose:
        lines = [*lines[:PRINTED_LINES], f"… ({len(lines) - PRINTED_LINES} more with --verbose)"]
    for line in lines:
        yield _indented(f"printed: {line}", "cyan")


def _indented(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, INDENT), expand=False)


def _score(report: Report) -> Text:
    style = "bold green" if report.solved else "bold"
    facts = f"seed {report.seed} · {report.device} · isolation {report.isolation}"
    return Text.assemble(
        ("score ", style),
        (f"{report.earned} / {report.possible}", style),
        (f"  {facts} · {report.seconds:.2f} s", "dim"),
    )


def _next_step(report: Report) -> str:
    name = report.exercise
    if report.solved:
        return f"`grade solution {name}` for ours, `grade list` for the next exercise"
    if report.problem:
        return "mend that line, then grade again"
    return f"`grade hint {name}`"
