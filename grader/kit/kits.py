"""A kit's exercises, and where their files lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import GradeError
from grader.records import Explain


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
