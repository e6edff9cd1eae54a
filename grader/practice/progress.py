"""Which hints were shown and which exercises are solved, in a file of the learner's folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import msgspec

from grader.kit import Kit


class Progress(msgspec.Struct):
    """What is remembered between commands."""

    hints: dict[str, int] = {}
    solved: set[str] = set()


def read_progress(kit: Kit) -> Progress:
    """What is remembered; nothing where there is no file. A damaged file is set aside."""
    path = _path(kit)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Progress)
    except FileNotFoundError:
        return Progress()
    except (msgspec.DecodeError, OSError):
        aside = path.with_suffix(".damaged")
        path.replace(aside)
        click.echo(
            f"`{path}` was damaged: set aside as `{aside.name}`, progress starts anew", err=True
        )
        return Progress()


def write_progress(kit: Kit, progress: Progress) -> None:
    """Remember it; a reader sees the whole old file or the whole new one."""
    path = _path(kit)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(msgspec.json.encode(progress))
    Path(file.name).replace(path)


def _path(kit: Kit) -> Path:
    """In the learner's folder; a kit inside an installed package is not ours to write to."""
    home = kit.home / ".grade" if kit.own_stubs else Path(click.get_app_dir("attention-drills"))
    return home / "progress.json"
