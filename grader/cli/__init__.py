"""The command ``grade``. Importing this module loads none of the subcommands."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import NoReturn

import click

from grader import __version__
from grader.cli.group import RootGroup
from grader.cli.saying import complain, echo, localise_help
from grader.errors import GradeError
from grader.languages import choose_language


@click.group(
    cls=RootGroup,
    default="run",
    default_if_no_args=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="attention-drills")
def cli() -> None:
    """Attention Drills: grades self-attention written from scratch in PyTorch.

    `grade exercise3` runs the hidden checks of an exercise on your file; all else is a command.

    \b
      grade exercise3                 the stub that you edited, in this folder's kit
      grade exercise3 path/mine.py    another file
      grade all --json reports.json   every exercise, and the reports as JSON
    """


localise_help(cli)


def main() -> NoReturn:
    """Run the command and end the process with its exit code."""
    # In a folder of strangers' files, our processes would take `socket.py` for Python's own.
    os.environ["PYTHONSAFEPATH"] = "1"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            # ASCII becomes UTF-8, as click does it. Any other encoding stays, and a character
            # that it lacks is printed as a question mark.
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="replace")
    code = run_command(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the reader has closed its end of the pipe
            code = code or 1
    os._exit(code)  # tearing down a process that has loaded torch takes a third of a second


def run_command(words: list[str]) -> int:
    """Run the command and report any error as one line on standard error.

    Returns:
        0 solved, 1 graded and not solved, 2 usage, 3 could not grade, 130 stopped by Ctrl-C.
    """
    try:
        choose_language()
        return cli.main(words, standalone_mode=False, obj=("grade", *words)) or 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        echo("stopped", err=True)
        return 130
    except GradeError as error:
        complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        return 1
    except Exception as error:
        complain(f"a fault of the grader: {type(error).__name__}: {error}")
        echo("set GRADE_TRACEBACK=1 to see where, and please report it", err=True)
        if os.environ.get("GRADE_TRACEBACK"):
            raise
        return 3
