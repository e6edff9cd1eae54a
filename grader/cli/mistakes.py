"""``grade mistakes``: show the catalogue of known mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from grader.cli.names import kit_option
from grader.cli.saying import echo
from grader.diagnosis.catalogue import Mistake, catalogue, find_mistake
from grader.diagnosis.edits import EditMistake, read_edits
from grader.kit import Kit, load_kit
from grader.languages import say
from grader.outputs.mistakes import describe_mistake, list_mistakes


class MistakeName(click.ParamType):  # type: ignore[type-arg]  # it converts nothing
    """The name of a mistake, completed by the shell."""

    name = "mistake"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names of mistakes that begin with the incomplete word."""
        return [CompletionItem(name) for name in catalogue() if name.startswith(incomplete)]


@click.command()
@click.argument("name", required=False, type=MistakeName())
@kit_option
def mistakes(name: str | None, kit_path: Path | None) -> None:
    """List the known mistakes, or explain one with its attention map.

    A mistake that one exercise alone knows is explained by its name, too.

    \b
    Example: grade mistakes scaled-by-the-model-width
    """
    kit = load_kit(kit_path)
    kit.refuse_in_interview()
    if name is None:
        for line in list_mistakes():
            click.echo(line)
    elif name not in catalogue() and (known := list(_exercise_mistakes(kit, name))):
        for exercise, mistake in known:
            click.echo(f"{mistake.name}, {exercise}")
            click.echo(f"  {say(f'What is done: {mistake.says}.')}")
            click.echo(f"  {say(f'A hint: {mistake.hint}')}")
    else:
        _explain(find_mistake(name))


def _exercise_mistakes(kit: Kit, name: str) -> Iterator[tuple[str, EditMistake]]:
    """Yield each exercise that defines and describes a mistake of this name, with the mistake."""
    for exercise in kit.exercises:
        for mistake in read_edits(exercise.mistakes):
            if mistake.name == name and mistake.says:
                yield exercise.name, mistake


def _explain(mistake: Mistake) -> None:
    from rich.console import Console
    from rich.text import Text

    from grader.attention.example import example_map
    from grader.outputs.terminal import render_maps

    click.echo(mistake.name)
    console = Console(highlight=False)
    for text in describe_mistake(mistake):
        for line in Text(text).wrap(console, 94):
            click.echo(f"  {line.plain.rstrip()}")
    shown = example_map(mistake)
    if shown is None:
        echo("  The attention map is right all the same: it shows elsewhere.")
        return
    for part in render_maps([shown], mine="so"):
        console.print(part)
