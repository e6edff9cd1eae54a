"""The rules on what an assistant may be told now, whatever it asks for."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.coach.fix_its import fix_it_exercises_computed_in
from grader.errors import GradeError
from grader.kit import MANIFEST, Exercise, Kit, load_kit
from grader.kit.manifest import read_manifest
from grader.kit.repairs import fix_it_exercises_in
from grader.practice.history import open_history
from grader.practice.interview import FOLDER_PREFIX, read_record
from grader.records import Explain

DEPTHS = list(Explain)  # each tells more than those before it
LEAST_TELLING_DEPTH = Explain.QUESTION  # the lowest depth that tells something
MAX_UNFINISHED = 10  # interviews that were begun and not handed in, whose manifests are read
MAX_DEPTH = 3  # folders, below that of the stubs, in which `grade interview` may have begun one
MAX_ENTRIES = 50_000  # of folders that are searched for interviews


@dataclass(frozen=True)
class AssistantRules:
    """The rules of one learner's folder, which is read anew on each call.

    Attributes:
        home: The folder that the user named; None for the one around the working directory.
        explain: The most that may be told of a mistake; None for what the folder's manifest says.
    """

    home: Path | None = None
    explain: Explain | None = None

    def folder(self) -> Kit:
        """Return the kit of the folder itself.

        Raises:
            GradeError: The folder has no kit, or a damaged one.
        """
        return load_kit(self.home)

    def kit(self) -> Kit:
        """Return the kit in use: that of an interview under way, else the folder's own.

        Raises:
            GradeError: As for ``folder``.
        """
        here = self.folder()
        return here if here.interview else next(_interviews(here), here)

    def kit_for_help(self) -> Kit:
        """Return the kit in use, for a tool that helps the learner.

        Raises:
            GradeError: An interview is under way, or as for ``folder``.
        """
        kit = self.kit()
        kit.refuse_in_interview()
        return kit

    def max_depth(self, kit: Kit) -> Explain:
        """Return the most that may be told of any mistake: the user's limit, else the kit's."""
        return kit.explain if self.explain is None else self.explain

    def depth(
        self, exercise: Exercise, kit: Kit, asked: Explain | None, source: str = ""
    ) -> Explain:
        """Return how much to tell of a mistake in an exercise.

        Args:
            exercise: The exercise; nothing is told where finding the mistake is the task.
            kit: The kit of the exercise.
            asked: The depth asked for; None for the least that tells something.
            source: The text to grade; if it holds a fix-it exercise's file, no more is told than
                of that exercise, whichever exercise it is graded as.

        Raises:
            GradeError: The depth asked for is more than may be told.
        """
        deepest = exercise.explain
        if exercise.diagnosis:
            held = fix_it_exercises_in(source, kit) + fix_it_exercises_computed_in(source, kit)
            deepest = min([self.max_depth(kit), *(one.explain for one in held)], key=DEPTHS.index)
        wanted = min(LEAST_TELLING_DEPTH, deepest, key=DEPTHS.index) if asked is None else asked
        return checked_depth(wanted, deepest, f"of a mistake in `{exercise.name}`")

    def expect_solved(self, exercise: Exercise, kit: Kit) -> None:
        """Refuse to show our solution until the learner has solved the exercise.

        Raises:
            GradeError: The learner's file has never solved the exercise.
        """
        with open_history(kit, to_write=False) as history:
            if exercise.name not in history.solved():
                raise GradeError(
                    f"`{exercise.name}` is not solved yet, and no solution is shown before that; "
                    "`next_hint` gives a hint"
                )


def checked_depth(asked: Explain, deepest: Explain, of_what: str) -> Explain:
    """Return the depth that was asked for, if it is at most the allowed one.

    Raises:
        GradeError: The depth is more than the allowed one.
    """
    if DEPTHS.index(asked) > DEPTHS.index(deepest):
        raise GradeError(
            f"{of_what} `{deepest}` is the most that may be told, and `{asked}` was asked for; how "
            "much is up to the learner"
        )
    return asked


def _interviews(here: Kit) -> Iterator[Kit]:
    """Yield the kits of interviews that were begun in a folder and not handed in.

    The working directory is searched at its top level alone: deeper, it may hold what others have
    handed in.

    Raises:
        GradeError: A manifest is damaged, or there are too many to read.
    """
    home, unfinished = here.home.resolve(), 0
    for parent in {home, Path.cwd()}:
        found = _folders_in(parent, MAX_DEPTH if parent == home else 1)
        for folder in sorted(one for one in found if one.name.startswith(FOLDER_PREFIX)):
            if not (folder / "exercises" / MANIFEST).is_file() or _handed_in(folder):
                continue
            unfinished += 1
            if unfinished > MAX_UNFINISHED:
                raise GradeError(
                    f"more than {MAX_UNFINISHED} folders `{FOLDER_PREFIX}…` in `{parent}` are "
                    "neither handed in nor under way: move them away"
                )
            if read_manifest(folder).kit.interview:
                yield load_kit(folder)


def _folders_in(parent: Path, depth: int) -> list[Path]:
    """Return the folders in a folder, so many levels deep, but none that a link leads to.

    Raises:
        GradeError: There is more in them than is looked at.
    """
    found, level, left = list[Path](), [parent], MAX_ENTRIES
    for _ in range(depth):
        entries = [*itertools.islice(_entries_of(level), left + 1)]
        left -= len(entries)
        if left < 0:
            raise GradeError(
                f"`{parent}` holds more than {MAX_ENTRIES:,} files and folders in its upper "
                "levels: use a folder of its own"
            )
        level = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        found += level
    return found


def _entries_of(folders: Iterable[Path]) -> Iterator[os.DirEntry[str]]:
    """Yield what lies in these folders, as far as they can be read."""
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            yield from entries


def _handed_in(folder: Path) -> bool:
    """Return whether an interview's record says that it was handed in.

    A damaged record says nothing: then the folder's manifest decides.
    """
    with suppress(GradeError):
        return read_record(folder).submitted is not None
    return False
