"""Packing exercises into a take-home: the bundle for candidates, and the record for the team."""

from __future__ import annotations

import hashlib
import io
import secrets
import stat
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grader import __version__
from grader.errors import GradeError
from grader.hiring.contents import bundle_files
from grader.hiring.takehome import SEED_BITS, Takehome, TakehomeItem, record_problems
from grader.kit import MANIFEST, Exercise, Kit


def make_takehome(
    kit: Kit,
    exercises: Sequence[str],
    title: str,
    minutes: int,
    out: Path,
    weights: Mapping[str, float] | None = None,
    force: bool = False,
) -> Takehome:
    """Write a candidate's bundle, and the team's record of it beside it.

    Args:
        kit: The kit that the exercises come from.
        exercises: Their names, in the order that the candidate reads.
        title: The heading of the candidate's README.
        minutes: The minutes that the candidate is given.
        out: The path of the bundle, ``….zip``; the record's is ``….toml``.
        weights: How much each score counts, by name; 1 where nothing is said.
        force: Whether files that are there are replaced.

    Raises:
        GradeError: An exercise is unknown, named twice or without public checks; the title, the
            minutes or a weight make no sense; a file is there already or cannot be written.
    """
    chosen = [kit.find(name) for name in exercises]
    draft = Takehome(
        title=title.strip(),
        minutes=minutes,
        kit=kit.name,
        kit_version=_kit_version(kit),
        grader=__version__,
        archive=out.name,
        sha256="",
        seed=secrets.randbits(SEED_BITS),
        sent=_takehome_items(chosen, weights or {}),
    )
    for fault in record_problems(draft):
        raise GradeError(fault)
    data = zipped(bundle_files(kit, chosen, draft.title, minutes))
    takehome = msgspec.structs.replace(draft, sha256=hashlib.sha256(data).hexdigest())
    _write_files(out, data, takehome, force)
    return takehome


def record_path(out: Path) -> Path:
    """Return the path of a bundle's record.

    Raises:
        GradeError: The bundle's name is not that of a zip.
    """
    if out.suffix.lower() != ".zip":
        raise GradeError(f"`{out}` is not a name for a zip; end it with `.zip`")
    return out.with_suffix(".toml")


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of these files, byte for byte the same whenever and wherever it is made."""
    buffer = io.BytesIO()
    # Files are not compressed, as compressed bytes depend on the version of zlib.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # Unix, on Windows too
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, files[name])
    return buffer.getvalue()


def _takehome_items(
    exercises: Sequence[Exercise], weights: Mapping[str, float]
) -> tuple[TakehomeItem, ...]:
    for name in weights.keys() - {exercise.name for exercise in exercises}:
        raise GradeError(f"there is a weight for `{name}`, which is not in the pack; leave it out")
    return tuple(TakehomeItem(e.name, e.digest, float(weights.get(e.name, 1))) for e in exercises)


def _kit_version(kit: Kit) -> str:
    """Return a kit's version; one that names none comes with this package and has its version."""
    manifest = kit.exercises[0].stub.parents[1] / MANIFEST
    own = tomllib.loads(manifest.read_text(encoding="utf-8"))["kit"].get("version")
    return str(own or __version__)


def _write_files(out: Path, data: bytes, takehome: Takehome, force: bool) -> None:
    files = {out: data, record_path(out): takehome.to_toml().encode()}
    if not out.parent.is_dir():
        raise GradeError(f"there is no folder `{out.parent}`; make it first")
    for path in files:
        if path.exists() and not force:
            raise GradeError(
                f"`{path}` already exists; choose another name, or overwrite it with --force"
            )
    for path, content in files.items():
        try:
            path.write_bytes(content)
        except OSError as error:
            raise GradeError(f"`{path}` cannot be written: {error.strerror}") from None
