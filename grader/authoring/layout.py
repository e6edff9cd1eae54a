"""Lays out a new kit, or an exercise in one: files that grade at once, for authors to rewrite."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from grader.errors import GradeError
from grader.kit import MANIFEST, load_kit
from grader.kit.stubs import digest

TEMPLATE_FOLDER = Path(__file__).with_name("template")
EXAMPLE_NAME, EXAMPLE_TRACK = "unit_rows", "first"
RIGHT_ANSWER_STYLES = ("rsqrt", "loop", "einsum")  # of the example


def example_files(name: str, track: str) -> dict[Path, str]:
    """Return the files of an example exercise: where in a kit each belongs, and what it holds."""
    beside = Path(track) / name
    return {
        Path("exercises") / beside.with_suffix(".py"): _filled("stub.py", name),
        Path("solutions") / beside.with_suffix(".py"): _filled("solution.py", name),
        Path("solutions") / beside.with_suffix(".toml"): _text("mistakes.toml"),
        Path("tests/suites") / track / f"test_{name}.py": _filled("suite.py", name),
        Path("tests/public") / track / f"test_{name}.py": _filled("public.py", name),
        Path("tests/answers") / f"{name}.sentences": _filled("stub.sentences", name),
        **{
            Path("tests/answers") / name / f"right_{way}.py": _filled(f"right_{way}.py", name)
            for way in RIGHT_ANSWER_STYLES
        },
    }


def make_kit(home: Path) -> list[Path]:
    """Lay out a kit with one exercise.

    Returns:
        The files that were written.

    Raises:
        GradeError: The folder is not empty, or cannot be written.
    """
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise GradeError(f"`{home}` is not empty; `grade kit new` wants a new folder")
    kit = re.sub(r"\W+", "-", home.absolute().name).strip("-") or "kit"
    manifest = home / "exercises" / MANIFEST
    _write(manifest, _text("kit.toml").format(kit=kit))
    return [manifest, *add_exercise(home, EXAMPLE_NAME, EXAMPLE_TRACK)]


def add_exercise(home: Path, name: str, track: str) -> list[Path]:
    """Add an example exercise to a kit, under a name and in a track.

    Returns:
        The new files; no file that was there is overwritten, but the manifest gets an entry.

    Raises:
        GradeError: The name cannot be one, or is taken; or a file cannot be written.
    """
    kit = load_kit(home)
    if kit.version:
        raise GradeError(f"`{home}` is a learner's folder of stubs; `grade kit new` makes a kit")
    for word in (name, track):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or keyword.iskeyword(word):
            raise GradeError(f"`{word}` can be no name here; write it as a function's: `unit_rows`")
    files = {home / path: text for path, text in example_files(name, track).items()}
    taken = [path for path in files if path.exists()]
    if taken or any(exercise.name == name for exercise in kit.exercises):
        where = taken[0] if taken else home / "exercises" / MANIFEST
        raise GradeError(f"there is a `{name}` already, in `{where}`; choose another name")
    for path, text in files.items():
        _write(path, text)
    stub = digest(next(iter(files.values())).encode())
    manifest = home / "exercises" / MANIFEST
    entry = _text("entry.toml").format(name=name, track=track, digest=stub)
    _write(manifest, manifest.read_text(encoding="utf-8") + entry)
    return list(files)


def record_stub_digest(home: Path, name: str, stub: str) -> None:
    """Write the digest of a stub that its author has changed into a kit's manifest.

    Raises:
        GradeError: The manifest cannot be written.
    """
    manifest = home / "exercises" / MANIFEST
    text = manifest.read_text(encoding="utf-8")
    entry = rf'(\nname = "{re.escape(name)}"\n(?:(?!\[\[).*\n)*?stub = ")[^"]*'
    _write(manifest, re.sub(entry, rf"\g<1>{stub}", text))


def _filled(template: str, name: str) -> str:
    return _text(template).replace(EXAMPLE_NAME, name)


def _text(template: str) -> str:
    return (TEMPLATE_FOLDER / template).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise GradeError(f"`{path}` cannot be written: {error.strerror}") from None
