"""What may be told now, whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GradeError
from grader.kit import MANIFEST, Exercise, Kit, load_kit
from grader.kit.repairs import given_as
from grader.kit.stubs import own_file
from grader.practice.history import open_history
from grader.practice.interview import FOLDERS, read
from grader.records import Explain

DEPTHS = list(Explain)  # each tells more than those before it
LEAST = Explain.QUESTION  # that tells something
BELOW = ("", "*/", "*/*/")  # where in a folder of stubs `grade interview` may have been called


@dataclass(frozen=True)
class Rules:
    """The rules of one learner's folder, which is looked at anew each time.

    Attributes:
        home: The folder that was named; None for the one around the working directory.
        explain: The most that is told of a mistake; None for what the folder says.
    """

    home: Path | None = None
    explain: Explain | None = None

    def folder(self) -> Kit:
        """The kit of the folder itself.

        Raises:
            GradeError: It has none, or it is damaged.
        """
        return load_kit(self.home)

    def kit(self) -> Kit:
        """The kit in use: of an interview that is under way, else of the folder.

        Raises:
            GradeError: As of ``folder``.
        """
        here = self.folder()
        return here if here.interview else next(_interviews(here), here)

    def helping(self) -> Kit:
        """The kit in use, for what is a help.

        Raises:
            GradeError: An interview is under way, or as of ``folder``.
        """
        kit = self.kit()
        kit.refuse_in_interview()
        return kit

    def most(self, kit: Kit) -> Explain:
        """The most that is told of any mistake."""
        return kit.explain if self.explain is None else self.explain

    def depth(
        self, exercise: Exercise, kit: Kit, asked: Explain | None, source: str = ""
    ) -> Explain:
        """How much is told of a mistake in an exercise.

        Args:
            exercise: Which; of one in which finding the mistake is the task, nothing is told.
            kit: Whose it is.
            asked: What is asked for; None for as little as tells something.
            source: That is graded as it; of one that is to be repaired, no more is told by
                another exercise's name.

        Raises:
            GradeError: It is more than the learner has set.
        """
        most = exercise.explain
        if exercise.diagnosis:
            repairs = (one.explain for one in given_as(source, kit))
            most = min([self.most(kit), *repairs], key=DEPTHS.index)
        wanted = min(LEAST, most, key=DEPTHS.index) if asked is None else asked
        return within(wanted, most, f"of a mistake in `{exercise.name}`")

    def file(self, exercise: Exercise, kit: Kit) -> Path:
        """The learner's file, which is the only one that is ever read.

        Raises:
            GradeError: It is missing, or a link that leads out of the folder.
        """
        path = own_file(exercise, kit)
        if not path.resolve().is_relative_to(kit.home.resolve()):
            raise GradeError(f"`{path}` is a link that leads out of `{kit.home}`: it is not read")
        return path

    def expect_solved(self, exercise: Exercise, kit: Kit) -> None:
        """Keep our solution back until there is one of the learner's own.

        Raises:
            GradeError: The learner's file has never solved the exercise.
        """
        with open_history(kit, to_write=False) as history:
            if exercise.name not in history.solved():
                raise GradeError(
                    f"`{exercise.name}` is not solved yet, and no solution is shown before that; "
                    "`next_hint` helps on"
                )


def within(asked: Explain, most: Explain, of_what: str) -> Explain:
    """The depth that is asked for.

    Raises:
        GradeError: It is more than the learner has set.
    """
    if DEPTHS.index(asked) > DEPTHS.index(most):
        raise GradeError(
            f"{of_what} `{most}` is the most that may be told, and `{asked}` was asked for; how "
            "much is up to the learner"
        )
    return asked


def _interviews(here: Kit) -> Iterator[Kit]:
    """The interviews that were begun in a folder and not handed in.

    Deeper than what is begun in it, a working directory may hold what others have handed in.
    """
    home = here.home.resolve()
    for parent in {home, Path.cwd()}:
        depths = BELOW if parent == home else BELOW[:1]
        found = [folder for depth in depths for folder in parent.glob(f"{depth}{FOLDERS}*")]
        for folder in sorted(found):
            if not (folder / "exercises" / MANIFEST).is_file() or _handed_in(folder):
                continue
            if (kit := load_kit(folder)).interview:
                yield kit


def _handed_in(folder: Path) -> bool:
    """Whether a record says so; where it is damaged, the manifest has to."""
    with suppress(GradeError):
        return read(folder).submitted is not None
    return False
