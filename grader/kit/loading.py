"""Finds a kit, and reads what its manifest says of it."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader import __version__
from grader.errors import GradeError
from grader.kit.kits import Exercise, Kit
from grader.kit.manifest import MANIFEST, ExerciseEntry, KitEntry, Manifest, read_manifest
from grader.records import Explain

KIT_NAME = re.compile(r"[a-z][a-z0-9-]{0,99}")  # of the kits of this package; other text is a path


def load_kit(home: Path | None = None) -> Kit:
    """Return the kit in a folder, or the one in use here.

    Without ``home``, that is the learner's folder of stubs around the working directory, else the
    kit that came with this package. A folder that is found this way may hold stubs only: suites
    are code that runs on the trusted side, so a kit with suites of its own has to be named.

    Args:
        home: The folder; or, if there is no such folder, the name of a kit that came with this
            package.

    Raises:
        GradeError: The folder has no manifest, or the manifest is damaged.
    """
    if home is not None:
        is_there = home.exists() or not KIT_NAME.fullmatch(str(home))
        return _read(home) if is_there else installed_kit(str(home))
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "exercises" / MANIFEST).is_file():
            manifest = read_manifest(folder)
            if manifest.kit.stubs_of:
                return _read(folder)
    return installed_kit()


def installed_kit(name: str = "") -> Kit:
    """Return the kit that came with this package, from its repository or its installed files.

    Args:
        name: Name of another kit that came with this package; empty for the main kit.

    Raises:
        GradeError: The kit is in neither place.
    """
    below = Path("kits") / name if KIT_NAME.fullmatch(name) else Path()
    for folder, own_stubs in _places():
        if (folder / below / "exercises" / MANIFEST).is_file():
            return _read(folder / below, own_stubs)
    if name:
        raise GradeError(f"no kit `{name}` is here: neither a folder, nor one that is installed")
    raise GradeError("this installation has no kit; reinstall `attention-drills`, or pass --kit")


def _places() -> Iterator[tuple[Path, bool]]:
    """Yield folders where kits of this package may lie, and whether stubs may be edited there."""
    yield Path(__file__).parents[2], True
    for scheme in (None, sysconfig.get_preferred_scheme("user")):
        data = sysconfig.get_path("data", scheme) if scheme else sysconfig.get_path("data")
        yield Path(data) / "share" / "attention-drills", False


def _read(home: Path, own_stubs: bool = True) -> Kit:
    manifest = read_manifest(home)
    if manifest.kit.stubs_of:
        return _learners_kit(home, manifest)
    exercises = tuple(_exercise(home, entry, manifest.kit) for entry in manifest.exercise)
    exercises = tuple(replace(one, like=_like(one, exercises)) for one in exercises)
    return Kit(
        manifest.kit.name,
        manifest.kit.title,
        home,
        exercises,
        own_stubs,
        explain=manifest.kit.explain,
        ideas=manifest.ideas,
        questions=home / "solutions" / "questions.toml",
    )


def _learners_kit(home: Path, manifest: Manifest) -> Kit:
    kit, theirs = installed_kit(), manifest.kit
    if kit.name != theirs.stubs_of:
        if not KIT_NAME.fullmatch(theirs.stubs_of):
            raise GradeError(f"`{home}` holds stubs of a kit that can have no such name")
        kit = installed_kit(theirs.stubs_of)
    if _numbers(theirs.version) > _numbers(__version__):
        raise GradeError(
            f"`{home}` was made by version {theirs.version}, and here is {__version__}; "
            "update `attention-drills`"
        )
    exercises = tuple(
        replace(
            exercise,
            file=home / "exercises" / exercise.track / f"{exercise.name}.py",
            given_digest=manifest.stubs.get(exercise.name, ""),
            explain=theirs.explain if exercise.diagnosis else exercise.explain,
        )
        for exercise in kit.exercises
        if exercise.name in (theirs.only or (exercise.name,))
    )
    return replace(
        kit,
        home=home,
        exercises=exercises,
        own_stubs=True,
        version=theirs.version,
        interview=theirs.interview,
        only=tuple(theirs.only),
        explain=theirs.explain,
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers to compare: ``0.10.2`` is after ``0.9``."""
    # Nobody's version has ten digits in a row, and Python reads no number of thousands.
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:3])


def _exercise(home: Path, entry: ExerciseEntry, kit: KitEntry) -> Exercise:
    path = Path(entry.track) / f"{entry.name}.py"
    return Exercise(
        name=entry.name,
        track=entry.track,
        title=entry.title,
        entry_points=tuple(entry.entry_points),
        hints=tuple(entry.hints),
        source=entry.source,
        formula=entry.formula,
        level=entry.level,
        digest=entry.stub,
        given_digest=entry.stub,
        earlier=tuple(entry.earlier),
        formerly=tuple(entry.formerly),
        diagnosis=entry.diagnosis,
        begins_at=entry.begins_at,
        asks=None if entry.asks is None else frozenset(entry.asks),
        explain=kit.explain if entry.diagnosis else Explain.NOTHING,
        forbidden=frozenset([*kit.forbidden, *entry.forbidden]),
        operations=(*kit.operations, *entry.operations),
        imports=frozenset(kit.imports),
        stub=home / "exercises" / path,
        file=home / "exercises" / path,
        solution=home / "solutions" / path,
        suite=home / "tests" / "suites" / entry.track / f"test_{entry.name}.py",
        mistakes=_mistakes(home, entry),
    )


def _like(exercise: Exercise, exercises: Sequence[Exercise]) -> Exercise | None:
    """Return the exercise to write that has a fix-it exercise's entry points, if there is one."""
    if exercise.diagnosis:
        return None
    wanted = {*exercise.entry_points}
    alike = [one for one in exercises if one.diagnosis and {*one.entry_points} == wanted]
    return alike[0] if len(alike) == 1 else None


def _mistakes(home: Path, entry: ExerciseEntry) -> Path:
    """Return the path of the known mistakes: beside the solution, or in older kits among tests."""
    former = home / "tests" / "answers" / entry.name / "wrong.toml"
    return former if former.is_file() else home / "solutions" / entry.track / f"{entry.name}.toml"
