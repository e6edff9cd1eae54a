"""``grade batch`` and its subcommands; without a subcommand's name it grades files."""

from __future__ import annotations

import click
from click_default_group import DefaultGroup

from grader.cli.batch import run
from grader.cli.batch_remarks import explain, note, override
from grader.cli.batch_status import status


class BatchGroup(DefaultGroup):  # type: ignore[misc]  # the library has no types
    """A command group that treats a first word that is no subcommand as the files to grade."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage with submissions, and the usage with a subcommand."""
        formatter.write_usage(ctx.command_path, "[run] SUBMISSIONS [OPTIONS]")
        formatter.write_usage(ctx.command_path, "status | note|override|explain NAME ...")


@click.group(cls=BatchGroup, default="run", default_if_no_args=True)
def batch() -> None:
    """Grade a folder that holds a folder, zip, tar, .py or .ipynb for each candidate.

    A first word that is a command below is that command; a folder of such a name is `./run`.

    \b
    Example: grade batch submissions --takehome takehome.toml --out results
    """


for _command in (run, status, note, override, explain):
    batch.add_command(_command)
