"""The catalogue of mistakes as text: the list of all, and one in detail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.diagnosis.catalogue import Mistake, catalogue
from grader.diagnosis.words import PART_TITLES
from grader.languages import say

NOTEBOOKS = {
    "000": "Single Head Self-Attention in Transformers",
    "001": "Self-Attention class explanation",
    "002": "Self-attention by hand",
    "003": "Building single-head self-attention",
    "004": "Multi-Headed Self-Attention with Query, Key, and Value",
}


def with_notebook_titles(source: str) -> str:
    """Return where a mistake was seen, notebooks by title; ``docs/sources.md`` says more."""
    return re.sub(r"notebook (\d+)", lambda found: f'the notebook "{NOTEBOOKS[found[1]]}"', source)


def list_mistakes() -> Iterator[str]:
    """Yield the names of all known mistakes, under the parts of attention."""
    known = list(catalogue().values())
    yield say(f"{len(known)} known mistakes, in the order of the steps of attention")
    for part, title in PART_TITLES.items():
        yield f"\n{say(title)}"
        yield from (f"  {mistake.name}" for mistake in known if mistake.part == part)


def describe_mistake(mistake: Mistake) -> Iterator[str]:
    """Yield what the mistake is, why it hurts, a hint, and where it was seen."""
    yield say(f"What is done: {mistake.says}.")
    yield say(f"Why it hurts: {mistake.hurts}")
    yield say(f"A hint: {mistake.hint}")
    yield say(f"Seen: {with_notebook_titles(mistake.source)}.")
