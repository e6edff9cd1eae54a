"""``grade kit``: the commands for authors of exercises."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.saying import echo
from grader.errors import GradeError
from grader.kit import load_kit
from grader.kit.stubs import relative_to_cwd
from grader.languages import say

if TYPE_CHECKING:
    from grader.authoring.findings import Finding
    from grader.authoring.side_by_side import Event

EXIT_FELL_SHORT = 1
PROCESS_MIB = 1500  # of a process that inspects exercises, its sandbox, and an answer


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
    from grader.authoring.checking import FAST_EFFORT, Effort
    from grader.authoring.findings import Finding
    from grader.authoring.side_by_side import Inspected, inspect_all
    from grader.authoring.static_findings import kit_findings

    made = load_kit(folder)
    if made.version:
        raise GradeError(f"`{folder}` is a learner's folder of stubs, and no kit")
    chosen = [made.find(name) for name in only] or list(made.exercises)
    shared = [] if only else list(kit_findings(made))
    for finding in shared:
        _show(finding)
    held, left_out = 0, Counter[str]()
    effort = FAST_EFFORT if fast else Effort()
    with _progress(made.title, len(chosen)) as tell:
        for event in inspect_all(made, chosen, effort, _processes()):
            tell(event)
            if isinstance(event, Finding):
                _show(event)
            if isinstance(event, Inspected):
                held += not event.falls_short
                left_out += event.left_out
                if event.new_digest:
                    echo(f"the manifest knows the stub of `{event.exercise}` as it is now")
    echo(f"{held} of {len(chosen)} exercises hold")
    if fast:
        echo(
            f"not tried, with --fast: {left_out['right answers']} right answers, "
            f"{left_out['wrong ones']} wrong ones, {left_out['known mistakes']} known mistakes, "
            f"{left_out['changes']} changes, most seeds, what reports say"
        )
    return EXIT_FELL_SHORT if shared or held < len(chosen) else 0


def _show(finding: Finding) -> None:
    place = f"{relative_to_cwd(finding.file)}:{finding.line}".removesuffix(":0")
    click.echo(f"{place}: {finding.text}")


def _processes() -> int:
    """Return how many processes may inspect at once: as many as have a core and memory."""
    from grader.hiring.memory import memory_to_take
    from grader.hiring.parallel import cores

    return max(1, min(cores(), memory_to_take() // PROCESS_MIB))


@contextmanager
def _progress(title: str, exercises: int) -> Iterator[Callable[[Event], None]]:
    """Show a bar on standard error with the exercises under way and the gradings done."""
    from rich import progress as bars
    from rich.console import Console

    from grader.authoring.side_by_side import Graded, Inspected

    columns = (
        *(bars.BarColumn(), bars.MofNCompleteColumn()),
        bars.TextColumn("{task.description}", markup=False),  # an author's own words
        bars.TextColumn("{task.fields[gradings]}"),
    )
    gradings, under_way = 0, dict[str, None]()  # a set that is in order
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=exercises, gradings="")

        def tell(event: Event) -> None:
            nonlocal gradings
            if isinstance(event, Graded):
                gradings += 1
                under_way[event.exercise] = None
            if isinstance(event, Inspected):
                under_way.pop(event.exercise, None)
                bar.advance(task)
            told = say(f"{gradings} gradings")
            bar.update(task, description=", ".join(under_way) or title, gradings=told)

        yield tell
