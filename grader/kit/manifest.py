"""A kit's manifest -> its exercises, and where their files lie."""

from __future__ import annotations

import re
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec

from grader import __version__
from grader.errors import GradeError
from grader.records import Explain

MANIFEST = "kit.toml"
NAME = re.compile(r"[a-z][a-z0-9-]*")  # of a kit that comes with this package


class ExerciseEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[exercise]]`` of a manifest."""

    name: str
    track: str
    title: str
    entry_points: list[str]
    hints: list[str]
    stub: str  # the digest of the stub as shipped
    source: str = ""  # where what it asks for was first written down
    earlier: list[str] = []  # those of stubs that said the same in other words
    level: Literal["easy", "medium", "hard"] = "medium"
    diagnosis: bool = True  # False where finding the mistake is the exercise
    formula: str = ""  # in LaTeX, for a notebook
    formerly: list[str] = []  # names that it had in earlier versions
    forbidden: list[str] = []  # names of torch that it forbids beside those of the kit
    operations: list[str] = []  # patterns of operations, likewise
    begins_at: int = 0  # points that the stub earns as it is, which count for nobody
    asks: list[str] | None = None  # what its attention has beyond one head; None where it has none


class KitEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[kit]`` of a manifest; ``stubs_of`` makes it a learner's folder of stubs.

    Attributes:
        forbidden: Names of torch that no submission may use.
        operations: Patterns of operations in torch's dispatcher that nothing may carry out for a
            submission, by whatever way: ``*attention*`` is ``torch.ops.aten._flash_attention…``;
            in small letters, whatever theirs are.
        imports: What a submission may import beside the standard library; all where empty.
        version: Of this package, when the learner's folder was made.
        interview: Whether an interview is under way in it.
        only: The exercises that it holds; all where empty.
        explain: How much reports tell of a mistake.
    """

    name: str = ""
    title: str = ""
    forbidden: list[str] = []
    operations: list[str] = []
    imports: list[str] = []
    stubs_of: str = ""
    version: str = ""
    interview: bool = False
    only: list[str] = []
    explain: Explain = Explain.CAUSE


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole ``kit.toml``."""

    kit: KitEntry
    exercise: list[ExerciseEntry] = []
    ideas: dict[str, list[str]] = {}
    stubs: dict[str, str] = {}  # of a learner's folder: the digest of each stub that was given


@dataclass(frozen=True)
class Exercise:
    """One task of a kit and where its files lie."""

    name: str
    track: str
    title: str
    entry_points: tuple[str, ...]
    hints: tuple[str, ...]
    source: str
    formula: str  # in LaTeX; may be empty
    level: str
    digest: str  # of the stub as shipped
    given: str  # of the stub as the learner got it, maybe from an earlier version
    earlier: tuple[str, ...]  # of stubs that said the same in other words
    formerly: tuple[str, ...]
    diagnosis: bool  # False where finding the mistake is the exercise
    begins_at: int  # points that the stub earns as it is, which count for nobody
    asks: frozenset[str] | None  # what its attention has beyond one head; None where it has none
    explain: Explain  # how much a report tells of a mistake, unless told otherwise
    forbidden: frozenset[str]
    operations: tuple[str, ...]
    imports: frozenset[str]  # beside the standard library; all where empty
    stub: Path  # as shipped
    file: Path  # the learner's, the same file in a repository's own kit
    solution: Path
    suite: Path
    mistakes: Path  # known ones, as edits of the solution; an installed kit may come without

    @property
    def stubs(self) -> frozenset[str]:
        """The digests of the stub, as it is shipped, as it was given and as it once was."""
        return frozenset((self.digest, self.given, *self.earlier))


@dataclass(frozen=True)
class Kit:
    """A kit's exercises in teaching order.

    Attributes:
        home: The folder that holds ``exercises`` and what a learner's progress is kept in.
        own_stubs: Whether ``home`` holds stubs that a learner edits; False for the kit inside
            an installed package, which nobody should edit.
        version: Of the package that made a learner's folder; empty for a kit of its own.
        interview: Whether an interview is under way in the folder.
        only: The exercises that a learner's folder was made for; all where empty.
        explain: How much reports tell of a mistake, unless told otherwise.
        ideas: What points are added up by, with the words by which checks are known to be about
            it: a check is about the first idea of which a word stands in its name.
        questions: About each idea, for interviews; the file may be missing.
    """

    name: str
    title: str
    home: Path
    exercises: tuple[Exercise, ...]
    own_stubs: bool = True
    version: str = ""
    interview: bool = False
    only: tuple[str, ...] = ()
    explain: Explain = Explain.CAUSE
    ideas: Mapping[str, Sequence[str]] = field(default_factory=dict)
    questions: Path = Path()

    @property
    def renamed(self) -> dict[str, str]:
        """New names of exercises by their old ones."""
        return {old: exercise.name for exercise in self.exercises for old in exercise.formerly}

    @property
    def outdated(self) -> list[str]:
        """The exercises that this folder does not have, or has an earlier stub of."""
        if not self.version:
            return []
        return [exercise.name for exercise in self.exercises if exercise.given != exercise.digest]

    def refuse_in_interview(self) -> None:
        """Refuse what is a help.

        Raises:
            GradeError: An interview is under way.
        """
        if self.interview:
            raise GradeError(
                f"an interview is under way in `{self.home}`: no checks, hints or solutions until "
                "`grade interview submit`"
            )

    def find(self, name: str) -> Exercise:
        """The exercise of this name, as ``meant`` has it.

        Raises:
            GradeError: There is none; the message offers near names.
        """
        if (exercise := self.meant(name)) is not None:
            return exercise
        if name in self.renamed:
            raise GradeError(f"`{name}` is called `{self.renamed[name]}` now")
        import difflib  # only here

        near = difflib.get_close_matches(name.lower(), [e.name for e in self.exercises], n=1)
        advice = f"did you mean `{near[0]}`?" if near else "`grade list` shows them all"
        raise GradeError(f"there is no exercise `{name}`; {advice}")

    def meant(self, word: str) -> Exercise | None:
        """The exercise that a word means: by its name, in any case, or `3` for `exercise3`."""
        names = (word, word.lower(), f"exercise{word}" if word.isdecimal() else "")
        known = {exercise.name: exercise for exercise in self.exercises}
        return next((known[name] for name in names if name in known), None)


def load_kit(home: Path | None = None) -> Kit:
    """The kit in a folder, or the one in use here.

    Without a folder: the learner's folder of stubs around the working directory, else the kit
    that came with this package. A folder that is met by chance may hold stubs only: suites are
    code that runs on the trusted side, so a kit with suites of its own has to be named.

    Args:
        home: The folder; or the name of a kit that came with this package, where no folder has it.

    Raises:
        GradeError: The folder has no manifest, or the manifest is damaged.
    """
    if home is not None:
        is_there = home.exists() or not NAME.fullmatch(str(home))
        return _read(home) if is_there else installed_kit(str(home))
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "exercises" / MANIFEST).is_file():
            manifest = _manifest(folder)
            if manifest.kit.stubs_of:
                return _read(folder)
    return installed_kit()


def installed_kit(name: str = "") -> Kit:
    """The kit that came with this package, from its repository or its installed files.

    Args:
        name: Of another one that did.

    Raises:
        GradeError: It is in neither.
    """
    below = Path("kits") / name if NAME.fullmatch(name) else Path()
    for folder, own_stubs in _places():
        if (folder / below / "exercises" / MANIFEST).is_file():
            return _read(folder / below, own_stubs)
    if name:
        raise GradeError(f"no kit `{name}` is here: neither a folder, nor one that is installed")
    raise GradeError("this installation has no kit; reinstall `attention-drills`, or pass --kit")


def _places() -> Iterator[tuple[Path, bool]]:
    """Where kits that came with this package may lie, and whether their stubs may be edited."""
    yield Path(__file__).parents[2], True
    for scheme in (None, sysconfig.get_preferred_scheme("user")):
        data = sysconfig.get_path("data", scheme) if scheme else sysconfig.get_path("data")
        yield Path(data) / "share" / "attention-drills", False


def _read(home: Path, own_stubs: bool = True) -> Kit:
    manifest = _manifest(home)
    if manifest.kit.stubs_of:
        return _learners_kit(home, manifest)
    exercises = tuple(_exercise(home, entry, manifest.kit) for entry in manifest.exercise)
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
        if not NAME.fullmatch(theirs.stubs_of):
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
            given=manifest.stubs.get(exercise.name, ""),
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
    """A version to compare: ``0.10.2`` is after ``0.9``."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


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
        given=entry.stub,
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


def _mistakes(home: Path, entry: ExerciseEntry) -> Path:
    """Beside the solution; in earlier kits, among the answers of their tests."""
    former = home / "tests" / "answers" / entry.name / "wrong.toml"
    return former if former.is_file() else home / "solutions" / entry.track / f"{entry.name}.toml"


def _manifest(home: Path) -> Manifest:
    path = home / "exercises" / MANIFEST
    if not path.is_file():
        raise GradeError(f"`{home}` is not a kit: it has no `exercises/{MANIFEST}`")
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Manifest)
    except (ValueError, RecursionError) as error:  # of TOML, UTF-8, a type; a number too long
        raise GradeError(
            f"`{path}` is damaged: {error}; restore it, or `grade init` a new kit; docs/kits.md "
            "says what it holds"
        ) from None
