"""``grade mistakes``: the catalogue."""

from __future__ import annotations

import re
import textwrap

import click
from click.shell_completion import CompletionItem

from grader.cli.names import refuse_in_interview
from grader.diagnosis.catalogue import Mistake, catalogue, find_mistake
from grader.diagnosis.words import PARTS
from grader.kit import load_kit

NOTEBOOKS = {
    "000": "Single Head Self-Attention in Transformers",
    "001": "Self-Attention class explanation",
    "002": "Self-attention by hand",
    "003": "Building single-head self-attention",
    "004": "Multi-Headed Self-Attention with Query, Key, and Value",
}


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
    refuse_in_interview(load_kit())
    if name is None:
        _list()
    else:
        _explain(find_mistake(name))


def titled(source: str) -> str:
    """Where a mistake was seen, notebooks by their titles; ``docs/sources.md`` says more."""
    return re.sub(r"notebook (\d+)", lambda found: f'the notebook "{NOTEBOOKS[found[1]]}"', source)


def _list() -> None:
    known = list(catalogue().values())
    click.echo(f"{len(known)} known mistakes, in the order of the steps of attention")
    for part, title in PARTS.items():
        click.echo(f"\n{title}")
        for mistake in known:
            if mistake.part == part:
                click.echo(f"  {mistake.name}")


def _explain(mistake: Mistake) -> None:
    from rich.console import Console

    from grader.attention.example import example_map
    from grader.outputs.terminal import render_maps

    click.echo(mistake.name)
    for text in (
        f"What is done: {mistake.says}.",
        f"Why it hurts: {mistake.hurts}",
        f"A hint: {mistake.hint}",
        f"Seen: {titled(mistake.source)}.",
    ):
        click.echo(textwrap.fill(text, 96, initial_indent="  ", subsequent_indent="  "))
    shown = example_map(mistake)
    if shown is None:
        click.echo("  The attention map is right all the same: it shows elsewhere.")
        return
    console = Console(highlight=False)
    for part in render_maps([shown], mine="so"):
        console.print(part)
