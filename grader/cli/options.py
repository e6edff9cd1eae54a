"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from grader.cli.saying import complain, echo
from grader.errors import GradeError
from grader.records import Explain
from grader.sandbox.gpu import DEVICES, first_gpu
from grader.versions import newer_than_tested
from grader.wire.levels import LEVELS, Limits

if TYPE_CHECKING:
    from rich.console import Console

_Command = TypeVar("_Command", bound=Callable[..., Any])

device_option = click.option(
    "--device",
    type=click.Choice(DEVICES),
    default="cpu",  # no GPU has been tried yet, and tensors this small are as fast on a CPU
    show_default=True,
    help="Device for the tensors; auto uses a GPU if there is one.",
)
isolation_option = click.option(
    "--isolation",
    type=click.Choice(["auto", *LEVELS]),
    default="auto",
    show_default=True,
    help="How a submission is confined; auto picks the strongest level that `grade doctor` finds.",
)
memory_option = click.option(
    "--memory",
    type=click.IntRange(64, 1 << 20),
    default=Limits().memory,
    show_default=True,
    metavar="MIB",
    help="Memory that a submission may use on top of Python and torch.",
)
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Processor time for one check, with a third of what it sleeps; all checks together may "
    "take six times as much.",
)
no_color_option = click.option(
    "--no-color", is_flag=True, help="Print without colour, as with the variable NO_COLOR."
)


def explain_option(help: str) -> Callable[[_Command], _Command]:
    """Return the option ``--explain``, for a command that explains mistakes."""
    return click.option(
        "--explain",
        type=click.Choice([level.value for level in Explain]),
        callback=lambda context, option, value: value and Explain(value),
        help=help,
    )


def html_option(help: str) -> Callable[[_Command], _Command]:
    """Return the option ``--html``, for a command that writes a page."""
    return click.option(
        "--html",
        "html_file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=help,
    )


def wants_cuda(device: str) -> bool:
    """Return whether workers need the CUDA devices; torch, not loaded yet, is not asked."""
    return device == "cuda" or (device == "auto" and first_gpu() is not None)


def warn_of_untried_versions() -> None:
    """Warn on standard error of a Python or torch newer than this version was tested with."""
    if newer := newer_than_tested():
        complain(f"{newer}; continuing")


def make_console(no_color: bool, stderr: bool = False) -> Console:
    """Return a console for standard output, or for errors, which may be a terminal or not."""
    from rich.console import Console

    plain = no_color or bool(os.environ.get("NO_COLOR"))
    made = Console(color_system=None if plain else "auto", highlight=False, stderr=stderr)
    if not made.is_terminal:
        made.width = 10_000  # columns: the reader of a pipe wraps the lines
    return made


def write_text(path: Path, text: str) -> None:
    """Write an output file that the user asked for, and say so on standard error.

    Raises:
        GradeError: The file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise GradeError(f"`{path}` cannot be written: {error.strerror}") from None
    echo(f"wrote `{path}`", err=True)
