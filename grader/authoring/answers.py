"""The known answers of a kit beside its solutions: right ones in other styles, and wrong ones.

They lie in ``tests/answers/EXERCISE/``, one file each, or in ``tests/answers/EXERCISE.answers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.authoring.answer_files import AnswersMistake, Entry, read_entries, source_of
from grader.authoring.findings import Finding, text_of
from grader.kit import Exercise
from grader.submission import Submission, read_submission


@dataclass(frozen=True)
class Answer:
    """An answer of an exercise.

    Attributes:
        name: Begins with ``right_``, ``slow_`` or ``wrong_``, after a folder such as ``styles/``.
        submission: To be graded.
        file: Where it stands.
        what: Its style, or what is wrong.
        loses: Checks that it is known to lose.
        accepted: Why it is accepted, although it is wrong.
    """

    name: str
    submission: Submission
    file: Path
    what: str = ""
    loses: frozenset[str] = frozenset()
    accepted: str = ""

    @property
    def kind(self) -> str:
        """``right``, ``slow`` (and right) or ``wrong``."""
        return self.name.rpartition("/")[2].partition("_")[0]


def answers_folder(exercise: Exercise) -> Path:
    """Return the folder of a kit that holds what is known of its exercises' answers."""
    return exercise.suite.parents[2] / "answers"


def answers_file(exercise: Exercise) -> Path:
    """Return the file with those answers of an exercise that are edits of one another."""
    return answers_folder(exercise) / f"{exercise.name}.answers"


def entries_of(exercise: Exercise) -> dict[str, Entry]:
    """Return the entries of an exercise's file of answers, by name; none without a file.

    Raises:
        AnswersMistake: The file is not as it has to be.
    """
    return read_entries(text_of(answers_file(exercise)))


def read_answers(exercise: Exercise) -> tuple[Answer, ...]:
    """Return all answers of an exercise but its solution.

    Raises:
        AnswersMistake: A file of answers is not as it has to be.
    """
    entries = entries_of(exercise)
    solution = exercise.solution.read_text(encoding="utf-8")
    try:
        found = [
            _answer(exercise, one, source_of(one, entries, solution)) for one in entries.values()
        ]
    except AnswersMistake as mistake:
        raise AnswersMistake(f"`{answers_file(exercise)}`: {mistake}") from None
    files = sorted((answers_folder(exercise) / exercise.name).glob("*.py"))
    return (*found, *(Answer(path.stem, read_submission(path), path) for path in files))


def _answer(exercise: Exercise, entry: Entry, source: str) -> Answer:
    known = entry.known
    return Answer(
        entry.name,
        Submission(Path(f"{exercise.name}.py"), source),
        answers_file(exercise),
        known.get("what", ""),
        frozenset(known.get("loses", "").split()),
        known.get("accepted", ""),
    )


def about(answer: Answer, text: str) -> Finding:
    """Return a finding about an answer: a file of its own, or an entry of one."""
    if answer.file.suffix == ".py":
        return Finding(answer.file, 0, text)
    lines = answer.file.read_text(encoding="utf-8").splitlines()
    heads = [line.partition(" < ")[0] for line in lines]
    return Finding(answer.file, heads.index(f"== {answer.name}") + 1, f"`{answer.name}` {text}")
