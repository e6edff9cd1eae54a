"""``grade batch``: the commands about a batch; without one of their names, files are graded."""

from __future__ import annotations

import click
from click_default_group import DefaultGroup

from grader.cli.batch import run
from grader.cli.batch_remarks import explain, note, override
from grader.cli.batch_status import status


class BatchGroup(DefaultGroup):  # type: ignore[misc]  # the library has no types
    """A first word that is none of its commands is what is to be graded."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Both forms."""
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
