"""What the command says, in the language in force."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

import click

from grader.languages import VARIABLE, choose, known_languages, say
from grader.outputs.sanitise import clean


def echo(text: str = "", err: bool = False, nl: bool = True) -> None:
    """Print a text of ours, in which names of others may be; all else goes by ``click.echo``."""
    click.echo(clean(say(text)), err=err, nl=nl)


def complain(text: str) -> None:
    """Print what is wrong, or to be minded, on standard error."""
    click.echo(f"grade: {clean(say(text))}", err=True)


def lang_option() -> click.Option:
    """``--lang``, which takes effect before all others."""
    return click.Option(
        ["--lang"],
        type=click.Choice(known_languages()),
        is_eager=True,
        expose_value=False,
        callback=lambda context, option, value: value and choose(value),
        help=f"Language of all that is said; by default that of the locale, or {VARIABLE}.",
    )


class SpeakingFormatter(click.HelpFormatter):
    """Writes help in the language in force."""

    def write_text(self, text: str) -> None:
        """A command's help, paragraph by paragraph."""
        super().write_text("\n\n".join(map(say, paragraphs(text))))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """A list of options or of commands."""
        told = [(name, say(text)) for name, text in rows]
        super().write_dl(told, col_max, col_spacing)


class SpeakingContext(click.Context):
    """A context whose help is in the language in force."""

    formatter_class = SpeakingFormatter


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a command's help, on a line each unless their lines are to stay."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        yield paragraph if paragraph.startswith("\b") else " ".join(paragraph.split())


def first_sentence(command: click.Command) -> str:
    """What a list of commands says of one."""
    first = next(paragraphs(command.help or ""))
    return re.split(r"[.:;] ", first)[0].rstrip(".:;") + "."


def speak(command: Any) -> None:
    """Let a command, and those in it, say all in the language in force."""
    command.context_class = SpeakingContext
    command.short_help = first_sentence(command)
    for one in getattr(command, "commands", {}).values():
        speak(one)
    command.params.append(lang_option())
