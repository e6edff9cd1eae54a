"""The catalogue of mistakes, read from ``catalogue.toml``, without importing torch."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader.errors import GradeError
from grader.kit.toml_files import read_toml


class KnownMistake(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A known way to get an exercise wrong.

    Attributes:
        name: Name, such as ``scaled-by-the-model-width``.
        says: What is done wrong, as a clause: ``the scores are divided by …``.
        hint: A question that does not give the mistake away.
        hurts: Why the mistake matters.
    """

    name: str
    says: str = ""
    hint: str = ""
    hurts: str = ""


class Mistake(KnownMistake, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A known way to get attention wrong: one step of the pipeline, done in a wrong way.

    Attributes:
        step: Step of the pipeline that is done wrong.
        choice: The step's choice that does it.
        needs: Features that an exercise must have for the mistake to be possible.
        source: Where the mistake was seen.
    """

    step: str
    choice: str
    needs: list[str]
    source: str

    @property
    def part(self) -> str:
        """The part of attention that the step belongs to: the first word of its name."""
        return self.step.partition(" ")[0]


@dataclass(frozen=True)
class Explanation:
    """The mistakes that reproduce a submission, and what they explain.

    Attributes:
        sets: The smallest sets of mistakes that reproduce it, all of the same size; no set where
            none does. The empty set says that nothing is wrong.
        explained: What was reproduced, such as ``output`` and ``output under a mask``.
        unexplained: What was not reproduced.
        right_anyway: What of ``unexplained`` is as it should be.
        note: A sentence on what is known even though there is no set; may be empty.
        beginning: Beginning of the sentence that names the mistakes; empty where their steps
            decide it.
        is_cut_short: Whether the search was cut short: sets that were not tried may explain it
            as well.
    """

    sets: tuple[tuple[KnownMistake, ...], ...]
    explained: tuple[str, ...]
    unexplained: tuple[str, ...]
    beginning: str = ""
    right_anyway: tuple[str, ...] = ()
    note: str = ""
    is_cut_short: bool = False


class _File(msgspec.Struct, forbid_unknown_fields=True):
    mistake: list[Mistake]


@functools.cache
def catalogue() -> dict[str, Mistake]:
    """Return all mistakes of ``catalogue.toml`` by name, in the order of the steps they spoil."""
    read = read_toml(Path(__file__).with_name("catalogue.toml"), _File)
    return {mistake.name: mistake for mistake in read.mistake}


def find_mistake(name: str) -> Mistake:
    """Return the mistake of this name.

    Raises:
        GradeError: There is no such mistake; the message offers the nearest name.
    """
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    advice = f"did you mean `{near[0]}`?" if near else "`grade mistakes` lists them all"
    raise GradeError(f"there is no mistake `{name}`; {advice}")


def mistakes_for(features: frozenset[str]) -> list[Mistake]:
    """Return the mistakes that are possible in an exercise that has these features."""
    return [mistake for mistake in catalogue().values() if features.issuperset(mistake.needs)]
