"""A mock interview: some exercises, a clock, and no help until it is over."""

from __future__ import annotations

import random
import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec

from grader.errors import GradeError
from grader.kit import Exercise, Kit, installed_kit
from grader.kit.spoilers import has_twins, spoilers
from grader.kit.stubs import real_path
from grader.practice.folder import close_interview, make_folder
from grader.practice.history import Event, open_history
from grader.submission import read_whole

RECENTLY_SOLVED = timedelta(days=7)  # within this: drawn only if others are too few
DRAW_COUNT = 20  # the largest and most mixed draw is taken
RECORD_PATH = Path(".grade") / "interview.json"
MAX_RECORD_BYTES = 64 << 10  # of the whole kit's names, and more
FOLDER_PREFIX = "interview-"  # of the names of interviews' folders

Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class Interview(msgspec.Struct, frozen=True):
    """The record of an interview, kept in its folder.

    Attributes:
        started: When the clock began to run.
        minutes: Minutes for all exercises together.
        seed: Seed from which the exercises were drawn.
        exercises: Names of the exercises.
        submitted: When the interview was handed in; None until then.
    """

    started: Moment
    minutes: float
    seed: int
    exercises: list[str]
    submitted: Moment | None = None

    @property
    def deadline(self) -> datetime:
        """When the time is up."""
        return self.started + timedelta(minutes=self.minutes)


def draw_exercises(
    kit: Kit, count: int, seed: int, level: str | None = None, known: Collection[str] = ()
) -> list[str]:
    """Draw exercises from the tracks in turn, some to write and some to repair if possible.

    No exercise shows how another is solved, or is nearly the same as another.

    Args:
        kit: The kit to draw from.
        count: How many exercises to draw.
        seed: Seed of the draw.
        level: Level of all exercises; None for any.
        known: Names of exercises to leave out.

    Raises:
        GradeError: The kit has too few such exercises.
    """
    dice = random.Random(seed)
    tracks: dict[str, list[Exercise]] = {}
    for exercise in kit.exercises:
        if level in (None, exercise.level) and exercise.name not in known:
            tracks.setdefault(exercise.track, []).append(exercise)
    draws = [_draw_once(kit, list(tracks.values()), count, dice) for _ in range(DRAW_COUNT)]
    drawn = max(draws, key=lambda one: (len(one), len({e.diagnosis for e in one})))
    if len(drawn) < count:
        which = f"{count} exercises" + (f" of level `{level}`" if level else "")
        raise GradeError(
            f"{which} cannot be drawn without one giving another away or being nearly the "
            f"same; {len(drawn)} can"
        )
    order = [exercise.name for exercise in kit.exercises]
    return sorted((exercise.name for exercise in drawn), key=order.index)


def kit_to_draw_from(here: Kit) -> Kit:
    """Return the installed kit of which a kit, or the stubs in a learner's folder, are.

    Raises:
        GradeError: None is: an interview's folder names its kit, and names no folder of suites.
    """
    for name in ("", here.name):
        with suppress(GradeError):
            if (kit := installed_kit(name)).name == here.name:
                return kit
    raise GradeError(
        f"the kit in `{here.home}` did not come with this package: `grade interview` draws from "
        "one that did"
    )


def choose_exercises(
    here: Kit, kit: Kit, count: int, level: str | None = None, seed: int | None = None
) -> tuple[list[str], int, bool]:
    """Draw exercises that were not solved in the last seven days, or any if those are too few.

    ``here`` has the history of what was solved; the rest is as for ``draw_exercises``, but a seed
    of None is a fresh one.

    Returns:
        The names, the seed, and whether enough exercises were not solved lately.

    Raises:
        GradeError: The kit has too few such exercises.
    """
    chosen = secrets.randbits(32) if seed is None else seed
    known = solved_lately(here, datetime.now(UTC))
    try:
        return draw_exercises(kit, count, chosen, level, known), chosen, True
    except GradeError:
        return draw_exercises(kit, count, chosen, level), chosen, False


def new_folder(parent: Path) -> Path:
    """Return a path, named by the time, for the folder of an interview that begins now."""
    return parent / datetime.now().astimezone().strftime(f"{FOLDER_PREFIX}%Y%m%d-%H%M%S")


def _draw_once(
    kit: Kit, tracks: Sequence[Sequence[Exercise]], count: int, dice: random.Random
) -> list[Exercise]:
    """Draw up to `count` exercises from the tracks in turn.

    An exercise is passed over if it and one drawn before are nearly the same, or one gives the
    other away.
    """
    heaps = [dice.sample(track, len(track)) for track in dice.sample(tracks, len(tracks))]
    drawn: list[Exercise] = []
    while len(drawn) < count and any(heaps):
        for heap in heaps:
            while heap and len(drawn) < count:
                candidate = heap.pop()
                if not (has_twins([*drawn, candidate]) or any(spoilers(kit, [*drawn, candidate]))):
                    drawn.append(candidate)
                    break
    return drawn


def solved_lately(kit: Kit, now: datetime) -> set[str]:
    """Return the exercises that were solved in a folder in the last seven days."""
    with open_history(kit, to_write=False) as history:
        since = (now - RECENTLY_SOLVED).isoformat()
        return {one.exercise for one in history.gradings() if one.solved and one.started >= since}


def begin(folder: Path, kit: Kit, minutes: float, names: list[str], seed: int) -> Interview:
    """Write the stubs of the drawn exercises into a folder and start the clock.

    Raises:
        GradeError: The folder cannot be written.
    """
    make_folder(folder, kit, names, interview=True)
    interview = Interview(datetime.now(UTC), minutes, seed, names)
    write_record(folder, interview)
    return interview


def write_record(folder: Path, interview: Interview) -> None:
    """Write an interview's record atomically."""
    path = folder / RECORD_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)  # in a folder from a stranger it may be a link to any file
    draft.write_bytes(msgspec.json.encode(interview))
    draft.replace(path)


def read_record(folder: Path) -> Interview:
    """Read the record of a folder's interview.

    Raises:
        GradeError: The folder has no interview, or its record is damaged.
    """
    path = folder / RECORD_PATH
    if not path.is_file():  # a link to a device has no end
        raise GradeError("there is no interview here; `grade interview` begins one")
    untouched = "your files are untouched, `grade EXERCISE FILE` from another folder grades them"
    data = read_whole(path, MAX_RECORD_BYTES, untouched)
    try:
        found = msgspec.json.decode(data, type=Interview)
        for moment in (found.deadline, found.submitted or found.deadline):
            moment.astimezone()  # raises OverflowError for a time that cannot be shown
        return found
    except (ValueError, OverflowError, RecursionError, msgspec.DecodeError) as error:
        raise GradeError(f"`{path}` is damaged: {error}; {untouched}") from None


def close(kit: Kit, interview: Interview, now: datetime) -> None:
    """End an interview, and turn its folder into one to practise in."""
    write_record(kit.home, msgspec.structs.replace(interview, submitted=now))
    close_interview(kit)


def note_save(kit: Kit, path: Path) -> None:
    """Record that an exercise's file was saved, to know how long the exercise took."""
    for exercise in kit.exercises:
        if real_path(exercise.file) == path:
            with suppress(GradeError), open_history(kit) as history:  # the file's mtime counts too
                history.record_event(exercise.name, Event.SAVED)


def time_spent(kit: Kit, interview: Interview) -> tuple[dict[str, float | None], dict[str, float]]:
    """Return the time that each exercise took, from recorded saves and the files' own times.

    Returns:
        By exercise, the sum over each of its saves of the minutes since the save before, of
        whatever exercise, None if it was never saved; then how many minutes after the deadline it
        was last saved, 0 if in time.
    """
    with open_history(kit) as history:
        saves = [(at, name) for name, kind, at in history.events() if kind is Event.SAVED]
    last = {exercise.name: _last_saved(exercise, interview) for exercise in kit.exercises}
    saves += [(at, name) for name, at in last.items() if at is not None]
    taken = _minutes_taken(sorted(saves), interview.started)
    late = {
        name: max((at - interview.deadline).total_seconds() / 60 if at else 0.0, 0.0)
        for name, at in last.items()
    }
    return {name: taken.get(name) for name in last}, late


def _last_saved(exercise: Exercise, interview: Interview) -> datetime | None:
    """Return when a file was last saved after the interview began; None if not so, or if gone."""
    try:
        at = datetime.fromtimestamp(exercise.file.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):  # missing, a link in a circle, or at no date
        return None
    return at if at > interview.started else None


def _minutes_taken(saves: Sequence[tuple[datetime, str]], began: datetime) -> dict[str, float]:
    taken: dict[str, float] = {}
    for at, name in saves:
        taken[name] = taken.get(name, 0.0) + (at - began).total_seconds() / 60
        began = at
    return taken
