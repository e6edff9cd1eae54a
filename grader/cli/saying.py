"""Print messages and help in the language in force."""

from __future__ import annotations

import inspect
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from grader.languages import LANGUAGE_VARIABLE, choose_language, known_languages, say
from grader.outputs.sanitise import clean


def echo(text: str = "", err: bool = False, nl: bool = True) -> None:
    """Print a message of ours, translated and cleaned, as it may hold names given by others.

    Any other text is printed with ``click.echo``.
    """
    click.echo(clean(say(text)), err=err, nl=nl)


def complain(text: str) -> None:
    """Print an error or a warning on standard error; a bar begins further lines, as of a name."""
    click.echo(f"grade: {clean(say(text))}".replace("\n", "\n| "), err=True)


@contextmanager
def without_workflow_commands() -> Iterator[None]:
    """Have GitHub Actions take no line printed meanwhile for a command: a submission may write it.

    Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    token = secrets.token_hex()
    click.echo(f"::stop-commands::{token}")
    yield
    click.echo(f"::{token}::")


def lang_option() -> click.Option:
    """Return the option ``--lang``, which takes effect before all other options."""
    return click.Option(
        ["--lang"],
        type=click.Choice(known_languages()),
        is_eager=True,
        expose_value=False,
        callback=lambda context, option, value: value and choose_language(value),
        help=f"Language of all that is said; by default that of the locale, "
        f"or {LANGUAGE_VARIABLE}.",
    )


class LocalisedFormatter(click.HelpFormatter):
    """A formatter that writes help in the language in force."""

    def write_text(self, text: str) -> None:
        """Write a command's help, translated paragraph by paragraph."""
        super().write_text("\n\n".join(map(say, paragraphs(text))))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of options or of commands, with their texts translated."""
        told = [(name, say(text)) for name, text in rows]
        super().write_dl(told, col_max, col_spacing)


class LocalisedContext(click.Context):
    """A click context whose help is in the language in force."""

    formatter_class = LocalisedFormatter


def paragraphs(text: str) -> Iterator[str]:
    r"""Yield the paragraphs of a command's help, each on one line unless it begins with ``\b``."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        yield paragraph if paragraph.startswith("\b") else " ".join(paragraph.split())


def first_sentence(command: click.Command) -> str:
    """Return the first sentence of a command's help, for the list of commands."""
    first = next(paragraphs(command.help or ""))
    return re.split(r"[.:;] ", first)[0].rstrip(".:;") + "."


def localise_help(command: Any) -> None:
    """Give a command and its subcommands help in the language in force, and ``--lang``."""
    command.context_class = LocalisedContext
    command.short_help = first_sentence(command)
    for one in getattr(command, "commands", {}).values():
        localise_help(one)
    command.params.append(lang_option())
