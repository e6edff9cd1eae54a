"""``grade mcp``: run a server for assistants in editors."""

from __future__ import annotations

import importlib.util
import signal
import sys
from functools import partial
from pathlib import Path

import click

from grader.cli.names import kit_option
from grader.cli.options import (
    device_option,
    explain_option,
    isolation_option,
    memory_option,
    timeout_option,
    wants_cuda,
    warn_of_untried_versions,
)
from grader.cli.saying import complain
from grader.errors import GradeError
from grader.kit import load_kit
from grader.outputs.sanitise import clean
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.wire.levels import limits_for


@click.command()
@click.option("--config", is_flag=True, help="Print how editors are told of it, and leave.")
@explain_option(
    "The most that is told of a known mistake, whatever an assistant asks for; by default what "
    "`exercises/kit.toml` says."
)
@timeout_option
@device_option
@isolation_option
@memory_option
@kit_option
def mcp(
    config: bool,
    explain: Explain | None,
    timeout: float,
    device: str,
    isolation: str,
    memory: int,
    kit_path: Path | None,
) -> None:
    """Serve an assistant in an editor, which coaches by the rules of this folder.

    It speaks the Model Context Protocol on standard input and output, until these are closed. It
    lists exercises, grades, gives hints, explains and holds interviews; it shows no solution
    before yours, and tells no more of a mistake than you let it.

    \b
    Example: grade mcp --config
    """
    if config:
        _print_config(kit_path, explain)
        return
    if importlib.util.find_spec("mcp") is None:
        raise GradeError(
            "`grade mcp` needs the SDK: `pip install 'attention-drills[mcp]'`, or in a checkout "
            "`python -m pip install -c constraints.txt -e '.[mcp]'`"
        )
    from grader.coach.rules import AssistantRules
    from grader.coach.server import serve

    # Only the default handler ends a read that waits for a client; the zygote ends its forks.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warn_of_untried_versions()
    if sys.stdin.isatty():
        complain(
            "this waits for an assistant on standard input; `grade mcp --config` says how an "
            "editor starts it, Ctrl-C ends it"
        )
    limits = limits_for(timeout, memory)
    start = partial(Sandbox, isolation, limits, on_gpu=wants_cuda(device))
    serve(AssistantRules(kit_path, explain), start, device, timeout)


def _print_config(kit_path: Path | None, explain: Explain | None) -> None:
    from grader.coach.config import config_lines

    home = load_kit(kit_path).home.resolve()
    words = [*_command(), "mcp", "--kit", str(home)]
    words += ["--explain", explain] if explain else []
    for editor, lines in config_lines(words).items():
        click.echo("\n".join([editor, *(f"  {clean(line)}" for line in lines)]))


def _command() -> list[str]:
    """Return the words that start ``grade`` from an editor outside the virtual environment."""
    beside = Path(sys.executable).with_name("grade")
    if beside.is_file():
        return [str(beside)]
    return [sys.executable, "-P", "-c", "from grader.cli import main; main()"]
