"""The commands by name: each is imported when it is used, not when commands are listed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click
from click_default_group import DefaultCommandFormatter, DefaultGroup

from grader.cli.saying import localise_help
from grader.languages import say

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


# Where each command is in this package, and the first sentence of its help.
COMMANDS = {
    "run": ("run:run", "Grade one exercise or several."),
    "watch": (
        "watch:watch",
        "Grade whatever you save, and go on to the next exercise when one is solved.",
    ),
    "try": ("try_on:try_on", "Try your file on an input of your own."),
    "next": ("agenda:next_exercise", "Say what to do now."),
    "review": (
        "agenda:review",
        "List the solved exercises that are due again, and those that will be.",
    ),
    "list": ("folder:list_exercises", "List the exercises in teaching order, and how far you are."),
    "contract": ("folder:contract", "Print an exercise's contract."),
    "hint": ("folder:hint", "Show one more hint, a question, each time."),
    "solution": ("folder:solution", "Show our solution, once the exercise is solved."),
    "progress": ("progress:progress", "Show how far you are."),
    "diff": ("progress:diff", "Show what you changed since the last grading of your file."),
    "reset": ("folder:reset", "Put the stub back."),
    "init": ("folder:init", "Make a folder with a fresh set of stubs."),
    "notebook": ("folder:notebook", "Write a notebook beside an exercise's file."),
    "interview": ("interview:interview", "Hold a mock interview."),
    "mistakes": (
        "mistakes:mistakes",
        "List the known mistakes, or explain one with its attention map.",
    ),
    "mcp": (
        "mcp:mcp",
        "Serve an assistant in an editor, which coaches by the rules of this folder.",
    ),
    "pack": ("pack:pack", "Pack exercises as a take-home."),
    "batch": (
        "batch_group:batch",
        "Grade a folder that holds a folder, zip, tar, .py or .ipynb for each candidate.",
    ),
    "kit": ("kit_group:kit", "Make exercises of your own, and hold them to what ours are held to."),
    "doctor": ("doctor:doctor", "Show what this machine offers."),
}


class RootGroup(DefaultGroup):  # type: ignore[misc]  # the library has no types
    """The root command group, which completes exercise names too: ``grade`` takes both."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of this name, or the default command."""
        wanted = cmd_name if cmd_name in COMMANDS else self.default_cmd_name
        if wanted not in self.commands:
            module, _, function = COMMANDS[wanted][0].partition(":")
            command = getattr(import_module(f"grader.cli.{module}"), function)
            localise_help(command)
            self.add_command(command)
        found: click.Command | None = super().get_command(ctx, cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, with the default command first."""
        with formatter.section(say("Commands")):
            listed = [(name, COMMANDS[name][1]) for name in self.list_commands(ctx)]
            DefaultCommandFormatter(self, formatter).write_dl(listed)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and exercises whose names begin with the incomplete word."""
        from grader.cli.names import matching_names

        commands: list[CompletionItem] = super().shell_complete(ctx, incomplete)
        return commands + matching_names(incomplete)
