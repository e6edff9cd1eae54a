"""``grade kit``: the commands for authors of exercises."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.saying import echo
from grader.errors import GradeError
from grader.kit import Kit, load_kit
from grader.kit.stubs import relative_to_cwd

if TYPE_CHECKING:
    from grader.authoring.findings import Finding

EXIT_FELL_SHORT = 1


@click.group()
def kit() -> None:
    """Make exercises of your own, and hold them to what ours are held to.

    A kit's suites are code that runs with all that your account may do; so does its solution.

    \b
    Example: grade kit new drills
    """


@kit.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def new(folder: Path) -> None:
    """Lay out a kit with one exercise that grades.

    \b
    Example: grade kit new drills
    """
    from grader.authoring.layout import EXAMPLE_NAME, make_kit

    for path in make_kit(folder):
        click.echo(f"  {path}")
    where = shlex.quote(str(folder))
    first = EXAMPLE_NAME
    echo(f"next: cd {where}, `grade kit check`, `grade {first} --kit .`; then make it your own")


@kit.command()
@click.argument("name")
@click.option("--track", default="first", help="The folder that it lies in, among others.")
@click.option(
    *("--kit", "home"),
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    help="Folder of the kit.",
)
def add(name: str, track: str, home: Path) -> None:
    """Add an exercise: stub, solution, suite, right answers, known mistakes.

    What is written grades as it is. Put your own in its place, then run `grade kit check`.

    \b
    Example: grade kit add softmax --track losses
    """
    from grader.authoring.layout import add_exercise

    for path in add_exercise(home, name, track):
        click.echo(f"  {path}")
    echo("next: write your own in their place, then `grade kit check`")


@kit.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Hold this one alone to it.")
@click.option(
    "--fast",
    is_flag=True,
    help="At one seed, with fewer answers, mistakes and changes, and without what reports say.",
)
def check(folder: Path, only: tuple[str, ...], fast: bool) -> int:
    """Hold a kit to all that ours is held to.

    A stub earns nothing; the solution and right answers in other styles earn everything at many
    seeds; each known mistake loses the check that names it, earns the same at every seed, and is
    named in a report; an answer that does nothing earns less than a tenth. Each sentence of a stub
    is held by a check, and each small change of the solution loses one. Digests of stubs that you
    changed are kept in the manifest.

    \b
    Example: grade kit check drills --fast
    """
    from grader.authoring.checking import FAST_EFFORT, Effort, Inspection
    from grader.authoring.static_findings import kit_findings
    from grader.sandbox.process import Sandbox

    made = load_kit(folder)
    if made.version:
        raise GradeError(f"`{folder}` is a learner's folder of stubs, and no kit")
    chosen = [made.find(name) for name in only] or list(made.exercises)
    is_kit_short = not only and _show(kit_findings(made))
    fell_short, left_out = 0, Counter[str]()
    with Sandbox() as sandbox, _progress(made, len(chosen)) as (begin, tell):
        for number, exercise in enumerate(chosen):
            begin(number, exercise.name)
            inspection = Inspection(
                made, exercise, sandbox, FAST_EFFORT if fast else Effort(), tell
            )
            fell_short += _show(inspection.findings())
            left_out += inspection.left_out
            if inspection.has_new_stub:
                echo(f"the manifest knows the stub of `{exercise.name}` as it is now")
    held = len(chosen) - fell_short
    echo(f"{held} of {len(chosen)} exercises hold")
    if fast:
        parts = [f"{count} {what}" for what, count in left_out.items() if count]
        echo(f"not tried, with --fast: {', '.join([*parts, 'most seeds, what reports say'])}")
    return EXIT_FELL_SHORT if fell_short or is_kit_short else 0


def _show(findings: Iterable[Finding]) -> bool:
    """Print findings as they come; return whether there was one."""
    found = False
    for finding in findings:
        found = True
        place = f"{relative_to_cwd(finding.file)}:{finding.line}".removesuffix(":0")
        click.echo(f"{place}: {finding.text}")
    return found


@contextmanager
def _progress(
    made: Kit, exercises: int
) -> Iterator[tuple[Callable[[int, str], object], Callable[[], object]]]:
    """Show a bar on standard error with the exercise being checked and the gradings done."""
    from rich import progress as bars
    from rich.console import Console

    columns = (
        *(bars.BarColumn(), bars.MofNCompleteColumn(), bars.TextColumn("{task.description}")),
        bars.TextColumn("{task.fields[gradings]}"),
    )
    gradings = itertools.count(1)
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(made.title, total=exercises, gradings="")

        def begin(number: int, name: str) -> None:
            bar.update(task, description=name, completed=number)

        def tell() -> None:
            bar.update(task, gradings=f"{next(gradings)} gradings")

        yield begin, tell
