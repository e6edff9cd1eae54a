"""``grade pack``: make a take-home for candidates."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.names import ExerciseName, kit_in_use, kit_option
from grader.cli.saying import complain, echo


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="EXERCISE...", type=ExerciseName())
@click.option("--title", required=True, help="Title of the take-home, which candidates read first.")
@click.option(
    "--minutes", type=click.IntRange(min=1), required=True, help="Minutes that candidates have."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default="takehome.zip",
    show_default=True,
    metavar="FILE",
    help="The candidates' bundle; your record is written next to it, as `.toml`.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@kit_option
def pack(
    names: tuple[str, ...],
    title: str,
    minutes: int,
    out: Path,
    force: bool,
    kit_path: Path | None,
) -> None:
    """Pack exercises as a take-home: stubs, public checks, rules.

    The record says how `grade batch` is to grade it: weights, how often each file, time and memory,
    what candidates read of it. Change that in an editor; each line says what it does, and when.

    \b
    Example: grade pack exercise3 exercise5 bug4 --minutes 90 --title "Attention, a take-home"
    """
    from grader.hiring.pack import make_takehome, record_path  # slow to import
    from grader.kit.spoilers import spoilers

    kit = kit_in_use(kit_path)
    make_takehome(kit, names, title, minutes, out, force=force)
    echo(f"`{out}` is for candidates")
    echo(f"`{record_path(out)}` is yours alone: a secret seed, and rules that you may change")
    for given in spoilers(kit, [kit.find(name) for name in names]):
        complain(f"mind that {given}; with one of the two it is fairer")
