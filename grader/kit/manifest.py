"""Reads a kit's manifest: its exercises, and where their files lie."""

from __future__ import annotations

import re
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from grader import __version__
from grader.errors import GradeError
from grader.records import Explain
from grader.submission import read_bounded

MANIFEST = "kit.toml"
MAX_MANIFEST_BYTES = 1 << 20  # some forty times as much as ours
MAX_DOTS_IN_LINE = 50  # a key of many parts takes memory and time by their square
KIT_NAME = re.compile(r"[a-z][a-z0-9-]*")  # of the kits of this package; other text is a path


class ExerciseEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[exercise]]`` entry of a manifest."""

    name: str
    track: str
    title: str
    entry_points: list[Annotated[str, msgspec.Meta(min_length=1)]]
    hints: list[str]
    stub: str  # the digest of the stub as shipped
    source: str = ""  # where what the exercise asks for was first written down
    earlier: list[str] = []  # digests of earlier stubs that said the same in other words
    level: Literal["easy", "medium", "hard"] = "medium"
    diagnosis: bool = True  # False where finding the mistake is the exercise
    formula: str = ""  # in LaTeX, for a notebook
    formerly: list[str] = []  # names of the exercise in earlier versions
    forbidden: list[str] = []  # names of torch that it forbids in addition to those of the kit
    operations: list[str] = []  # patterns of operations that it forbids in addition, likewise
    begins_at: int = 0  # points that the stub earns as it is, which count for nobody
    asks: list[str] | None = None  # what it asks for beyond one-head attention; None if not listed


class KitEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[kit]`` entry of a manifest, either of a whole kit or of a learner's folder of stubs.

    Attributes:
        stubs_of: Name of the kit whose stubs a learner's folder holds; empty for a whole kit.
        forbidden: Names of torch that no submission may use.
        operations: Patterns of operations in torch's dispatcher that no submission may have carried
            out, by any way: ``*attention*`` covers ``torch.ops.aten._flash_attention…``. Patterns
            are in lower case, whatever the operations' names are.
        imports: Packages that a submission may import beside the standard library; all where empty.
        version: Version of this package when the learner's folder was made.
        interview: Whether an interview is under way in the learner's folder.
        only: Names of the exercises in the learner's folder; all where empty.
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
    stubs: dict[str, str] = {}  # in a learner's folder: the digest of each stub that was given


@dataclass(frozen=True)
class Exercise:
    """One exercise of a kit, and where its files lie."""

    name: str
    track: str
    title: str
    entry_points: tuple[str, ...]
    hints: tuple[str, ...]
    source: str
    formula: str  # in LaTeX; may be empty
    level: str
    digest: str  # of the stub as shipped
    given_digest: str  # digest of the stub as the learner got it, maybe from an earlier version
    earlier: tuple[str, ...]  # digests of earlier stubs that said the same in other words
    formerly: tuple[str, ...]
    diagnosis: bool  # False where finding the mistake is the exercise
    begins_at: int  # points that the stub earns as it is, which count for nobody
    asks: frozenset[str] | None  # what it asks for beyond one-head attention; None if not listed
    explain: Explain  # how much a report tells of a mistake, unless told otherwise
    forbidden: frozenset[str]
    operations: tuple[str, ...]
    imports: frozenset[str]  # packages allowed beside the standard library; all where empty
    stub: Path  # as shipped
    file: Path  # that a learner edits: a copy of the stub, or where a kit was not copied, the stub
    solution: Path
    suite: Path
    mistakes: Path  # known mistakes, as edits of the solution; may be missing in an installed kit
    like: Exercise | None = None  # the one exercise whose classes a fix-it exercise breaks

    @property
    def stub_digests(self) -> frozenset[str]:
        """The digests of the stub: as shipped, as given to the learner, and in earlier versions."""
        return frozenset((self.digest, self.given_digest, *self.earlier))


@dataclass(frozen=True)
class Kit:
    """A kit's exercises in teaching order.

    Attributes:
        home: The folder that holds ``exercises`` and the record of a learner's progress.
        own_stubs: Whether ``home`` holds stubs that a learner edits; False for the kit inside
            an installed package, which nobody should edit.
        version: Version of the package that made a learner's folder; empty for other kits.
        interview: Whether an interview is under way in the folder.
        only: Names of the exercises that a learner's folder was made for; all where empty.
        explain: How much reports tell of a mistake, unless told otherwise.
        ideas: The ideas by which points are added up, each with words: a check is about the first
            idea of which a word occurs in the check's name.
        questions: File of questions on each idea, for interviews; it may be missing.
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
        """The new names of renamed exercises, by their old names."""
        return {old: exercise.name for exercise in self.exercises for old in exercise.formerly}

    @property
    def outdated(self) -> list[str]:
        """The exercises whose current stub the learner's folder lacks: new or changed ones."""
        if not self.version:
            return []
        return [
            exercise.name for exercise in self.exercises if exercise.given_digest != exercise.digest
        ]

    def refuse_in_interview(self) -> None:
        """Raise if an interview is under way, since help is refused then.

        Raises:
            GradeError: An interview is under way.
        """
        if self.interview:
            raise GradeError(
                f"an interview is under way in `{self.home}`: no checks, hints or solutions until "
                "`grade interview submit`"
            )

    def find(self, name: str) -> Exercise:
        """Return the exercise of this name, which may be shortened as in ``find_or_none``.

        Raises:
            GradeError: There is no such exercise; the message offers a similar name.
        """
        if (exercise := self.find_or_none(name)) is not None:
            return exercise
        if name in self.renamed:
            raise GradeError(f"`{name}` is called `{self.renamed[name]}` now")
        import difflib  # only needed here

        near = difflib.get_close_matches(name.lower(), [e.name for e in self.exercises], n=1)
        advice = f"did you mean `{near[0]}`?" if near else "`grade list` shows them all"
        raise GradeError(f"there is no exercise `{name}`; {advice}")

    def find_or_none(self, word: str) -> Exercise | None:
        """Return the exercise that a word names; None if there is none.

        Upper and lower case are the same, and `3` names `exercise3`.
        """
        names = (word, word.lower(), f"exercise{word}" if word.isdecimal() else "")
        known = {exercise.name: exercise for exercise in self.exercises}
        return next((known[name] for name in names if name in known), None)


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
            manifest = _manifest(folder)
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
    manifest = _manifest(home)
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


def _manifest(home: Path) -> Manifest:
    path = home / "exercises" / MANIFEST
    if not path.is_file():
        raise GradeError(f"`{home}` is not a kit: it has no `exercises/{MANIFEST}`")
    try:
        data = read_bounded(path, MAX_MANIFEST_BYTES)
        if len(data) > MAX_MANIFEST_BYTES:
            raise ValueError(f"it is larger than {MAX_MANIFEST_BYTES >> 10} KiB")
        if any(line.count(b".") > MAX_DOTS_IN_LINE for line in data.splitlines()):
            raise ValueError(f"a line has more than {MAX_DOTS_IN_LINE} dots")
        return msgspec.convert(tomllib.loads(data.decode()), Manifest)
    except (ValueError, RecursionError) as error:  # in TOML, UTF-8 or a type; too long a number
        raise GradeError(
            f"`{path}` is damaged: {error}; restore it, or `grade init` a new kit; docs/kits.md "
            "says what it holds"
        ) from None
