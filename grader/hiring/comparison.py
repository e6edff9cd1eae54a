"""Comparing the submissions of a batch, exercise by exercise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.hiring.batch import stub_as_sent
from grader.hiring.compared import MAX_SUBMISSION_CHARS
from grader.hiring.dataflow import contract_of
from grader.hiring.earlier import EarlierSubmissions
from grader.hiring.similarity import find_similar
from grader.hiring.store import BatchStore
from grader.hiring.traits import read_traits
from grader.kit import Exercise
from grader.kit.spoilers import written_out_in
from grader.records import Similarity
from grader.submission.notebook.slicing import cut_apart

MIN_REPAIR_STATEMENTS = 2  # that the right repair writes; with fewer, all right files are the same
ONE_RIGHT_REPAIR = Similarity(
    (),
    (),
    0,
    (),
    too_short=True,
    says="The right repair is one line, so whoever finds it hands in the same file. Files are not "
    "compared.",
)


def compare_submissions(
    store: BatchStore,
    exercises: Sequence[Exercise],
    names: Mapping[str, str],
    earlier: EarlierSubmissions | None = None,
) -> dict[str, Similarity]:
    """Return, by exercise, how similar the submissions of those are whose keys have a name."""
    found = {}
    for exercise in exercises:
        stub, solution = stub_as_sent(exercise), exercise.solution.read_text(encoding="utf-8")
        if _is_one_line_repair(exercise, stub, solution):
            found[exercise.name] = ONE_RIGHT_REPAIR
            continue
        sources = {
            names[key]: _own_part(source, exercise, exercises)
            for key, source in store.sources(exercise.name).items()
            if key in names
        }
        before = (earlier or {}).get(exercise.name, {})
        parts = {
            key: replace(one, source=_own_part(one.source, exercise, exercises))
            for key, one in before.items()
        }
        alike = find_similar(sources, stub, [solution], earlier=parts)
        whole = {key: before[key] for key in alike.earlier}
        found[exercise.name] = replace(alike, earlier=whole)
    return found


def _own_part(source: str, exercise: Exercise, exercises: Sequence[Exercise]) -> str:
    """Return the part of a file that is for this exercise, if it solves several of them."""
    others = [one.entry_points for one in exercises]
    if len(others) == 1 or len(source) > MAX_SUBMISSION_CHARS:
        return source
    return cut_apart(source, exercise.entry_points, others)


def _is_one_line_repair(exercise: Exercise, stub: str, solution: str) -> bool:
    """Return whether all that a file to be repaired needs is one statement."""
    if not written_out_in(stub).issuperset(exercise.entry_points):
        return False
    contract = contract_of(stub)
    before, after = (
        Counter(read_traits(source, contract).code.split("\n")) for source in (stub, solution)
    )
    return (after - before).total() < MIN_REPAIR_STATEMENTS
