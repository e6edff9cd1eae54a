"""Everybody who handed something in, with what a list of names says of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.hiring.batch import select_candidates, stub_as_sent
from grader.hiring.candidates import Candidate, ListedPerson, find_candidates, read_names
from grader.kit import Kit


@dataclass(frozen=True)
class Roster:
    """The candidates of a batch.

    Attributes:
        everyone: All candidates of the folder.
        chosen: Those who are to be graded now.
        listed: The people of the list of names, by the candidate's key; some may no longer be in
            the folder.
    """

    everyone: Sequence[Candidate]
    chosen: Sequence[Candidate]
    listed: Mapping[str, ListedPerson]

    @property
    def names(self) -> dict[str, str]:
        """The name of each candidate, by key."""
        return {one.key: one.name for one in self.everyone}

    @property
    def listed_names(self) -> dict[str, str]:
        """The names on the list, by key."""
        return {key: one.name for key, one in self.listed.items()}

    @property
    def ids(self) -> dict[str, str]:
        """What a course system knows each listed person by, by key; may be empty."""
        return {key: one.id for key, one in self.listed.items()}


def read_roster(
    submissions: Path,
    list_of_names: Path | None,
    exercises: Collection[str],
    kit: Kit,
    only: Collection[str] = (),
    others: Iterable[Path | None] = (),
) -> Roster:
    """Find the candidates in a folder, and read the list of their names.

    Args:
        submissions: The folder with everything that was handed in.
        list_of_names: A CSV file with names and ids; None for no list.
        exercises: The exercises that were sent.
        kit: The kit that has them.
        only: Names or files of those who are to be graded; empty for everyone.
        others: What is no candidate's, should it lie in the folder too.

    Raises:
        GradeError: The folder or the list cannot be used, or nobody has a name in ``only``.
    """
    listed = read_names(list_of_names) if list_of_names else {}
    everyone = find_candidates(
        submissions,
        list(exercises),
        listed,
        [path for path in (*others, list_of_names) if path is not None],
        {exercise.name: exercise.entry_points for exercise in kit.exercises},
        {name: stub_as_sent(kit.find(name)) for name in exercises},
    )
    key_of = {file: one.key for one in everyone for file in one.files}
    by_key = {key_of.get(file, file): one for file, one in listed.items()}
    return Roster(everyone, select_candidates(everyone, only), by_key)
