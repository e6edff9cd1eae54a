"""All commands with their options: ``docs/commands.md``, made of what ``--help`` says.

``python -m tests.support.commands`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from grader.cli import cli
from tests.support.paths import ROOT

COMMANDS_PAGE = ROOT / "docs" / "commands.md"
HELP_COLUMNS = 96
PAGE_HEAD = """# Commands

Made by `python -m tests.support.commands` from what each command's `--help` says. `grade 3` and
`grade Exercise3` are `grade exercise3`. Exit codes: 0 solved, 1 graded and not solved, 2 usage,
3 could not grade. `eval "$(_GRADE_COMPLETE=bash_source grade)"` completes commands and exercises
(`zsh_source` and `fish_source` likewise).
"""


def page() -> str:
    """The whole file."""
    return PAGE_HEAD + "".join(f"\n## {name}\n\n```text\n{told}\n```\n" for name, told in _helps())


def _helps() -> Iterator[tuple[str, str]]:
    top = cli.make_context("grade", ["--help"], resilient_parsing=True, terminal_width=HELP_COLUMNS)
    yield "grade", cli.get_help(top)
    yield from _of(cli, top)


def _of(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    """Each command of a group, with those of its own."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = command.make_context(name, ["--help"], parent=context, resilient_parsing=True)
        yield inner.command_path, command.get_help(inner)
        if isinstance(command, click.Group):
            yield from _of(command, inner)


if __name__ == "__main__":
    COMMANDS_PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {COMMANDS_PAGE.relative_to(ROOT)}\n")
