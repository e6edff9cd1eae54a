"""Options that a command no longer has: where what they did is to be found now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from grader.languages import say


class CommandWithMovedOptions(click.Command):
    """A command that says of an option that it no longer has what to do instead.

    Args:
        moved: What to do instead of each such option, by its name.
    """

    def __init__(self, *args: Any, moved: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._moved = moved

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments as any command does.

        Raises:
            click.UsageError: An option is unknown, or no longer there.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in self._moved:
                raise
            instead = self._moved[error.option_name]
            raise click.UsageError(
                say(f"there is no {error.option_name} any more: {instead}"), ctx
            ) from None
