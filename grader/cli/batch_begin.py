"""The start of ``grade batch``: where options that it had once are now, and weak isolation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli.saying import complain
from grader.errors import GradeError
from grader.languages import say

if TYPE_CHECKING:
    from grader.hiring.tasks import Capabilities

LEVELS_FOR_STRANGERS = ("full", "landlock")
KEYS_IN_RECORD = ("seed", "seeds", "timeout", "memory", "device")
MOVED_OPTIONS = {
    **{
        f"--{key}": f"`{key}` in the take-home's record, which `grade pack` writes, says it"
        for key in KEYS_IN_RECORD
    },
    "--memory-all": "a batch takes most of what is free; --jobs says how many processes",
    "--feedback": "--also feedback writes the pages, to `feedback` in the folder of results",
    "--bom": "--also excel writes a gradebook for Excel",
}


class BatchCommand(click.Command):
    """The command, which says of an option that it no longer has what to do instead."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments as any command does.

        Raises:
            click.UsageError: An option is unknown, or no longer there.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in MOVED_OPTIONS:
                raise
            instead = MOVED_OPTIONS[error.option_name]
            raise click.UsageError(
                say(f"there is no {error.option_name} any more: {instead}"), ctx
            ) from None


def refuse_weak_isolation(wanted: str, capabilities: Capabilities) -> None:
    """Refuse an isolation level too weak for strangers' files, unless the user asked for it.

    Each stronger level that this machine lacks is named on standard error, with the reason.
    """
    for level, reason in capabilities.refused.items():
        complain(f"isolation `{level}` is not available here: {reason}")
    if wanted == "auto" and capabilities.isolation not in LEVELS_FOR_STRANGERS:
        raise GradeError(
            "this machine offers no more isolation than a process, and strangers' files need "
            "more; `grade doctor` says what is missing, --isolation process grades all the same"
        )
