"""The catalogue of mistakes, read from ``catalogue.toml``. No torch here."""

from __future__ import annotations

import difflib
import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader.errors import GradeError


class KnownMistake(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A known way to get an exercise wrong.

    Attributes:
        name: Such as ``scaled-by-the-model-width``.
        says: What is done, as a clause: ``the scores are divided by …``.
        hint: A question that does not give it away.
        hurts: Why it matters.
    """

    name: str
    says: str = ""
    hint: str = ""
    hurts: str = ""


class Mistake(KnownMistake, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A known way to get attention wrong: one step of the pipeline, done in a wrong way.

    Attributes:
        step: Of the pipeline.
        choice: The step's choice that does it.
        needs: What an exercise must have for it to be possible.
        source: Where it was seen.
    """

    step: str
    choice: str
    needs: list[str]
    source: str

    @property
    def part(self) -> str:
        """The part of attention that the step belongs to: the first word of its name."""
        return self.step.partition(" ")[0]

    def applies_to(self, features: frozenset[str]) -> bool:
        """Whether an exercise that has these features can be got wrong in this way."""
        return features.issuperset(self.needs)


@dataclass(frozen=True)
class Explanation:
    """What reproduces a submission.

    Attributes:
        sets: The smallest sets of mistakes that do, all of the same size; no set where none does.
            The empty set says that nothing is wrong.
        explained: What was reproduced, such as ``output`` and ``output under a mask``.
        left: What was not.
        right: What of that is as it should be.
        note: What is known all the same where there is no set; a sentence or none.
        beginning: Of the sentence that tells it; empty where the mistakes' steps do.
        cut: Whether the search was cut short: what was not tried may explain it as well.
    """

    sets: tuple[tuple[KnownMistake, ...], ...]
    explained: tuple[str, ...]
    left: tuple[str, ...]
    beginning: str = ""
    right: tuple[str, ...] = ()
    note: str = ""
    cut: bool = False


class _File(msgspec.Struct, forbid_unknown_fields=True):
    mistake: list[Mistake]


@functools.cache
def catalogue() -> dict[str, Mistake]:
    """Every mistake by its name, in the order of the pipeline."""
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return {m.name: m for m in msgspec.convert(tomllib.loads(text), _File).mistake}


def find_mistake(name: str) -> Mistake:
    """The mistake of this name.

    Raises:
        GradeError: There is none; the message offers near names.
    """
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    advice = f"did you mean `{near[0]}`?" if near else "`grade mistakes` lists them all"
    raise GradeError(f"there is no mistake `{name}`; {advice}")


def mistakes_for(features: frozenset[str]) -> list[Mistake]:
    """The mistakes that are possible in an exercise that has these features."""
    return [mistake for mistake in catalogue().values() if mistake.applies_to(features)]
