"""``grade mistakes``: the catalogue."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from grader.cli.saying import echo
from grader.diagnosis.catalogue import Mistake, catalogue, find_mistake
from grader.kit import load_kit
from grader.outputs.mistakes import describe_mistake, list_mistakes


class MistakeName(click.ParamType):  # type: ignore[type-arg]  # it converts nothing
    """A mistake's name, with completion."""

    name = "mistake"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin so."""
        return [CompletionItem(name) for name in catalogue() if name.startswith(incomplete)]


@click.command()
@click.argument("name", required=False, type=MistakeName())
def mistakes(name: str | None) -> None:
    """List the known mistakes, or explain one with its attention map.

    \b
    Example: grade mistakes scaled-by-the-model-width
    """
    load_kit().refuse_in_interview()
    if name is None:
        for line in list_mistakes():
            click.echo(line)
    else:
        _explain(find_mistake(name))


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
