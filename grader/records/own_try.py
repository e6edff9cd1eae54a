"""What a file gives for an input of one's own, beside what is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.records.report import AttentionMap

Numbers = Any  # a number, or lists of them


@dataclass(frozen=True)
class OwnTry:
    """One call, with all that went into it.

    Attributes:
        made: How the module was made, or the function called: ``MultiHead(hidden_dim=2)``.
        given: The inputs by name: those of one's own, and those that were drawn.
        weights: The module's parameters, by name; they are drawn.
        yours: What came, by the outputs' names.
        right: What is right, likewise.
        wrong: What is to be said of outputs that differ, by name.
        maps: Attention maps, where they can be told from the output.
    """

    made: str
    given: dict[str, Numbers]
    weights: dict[str, Numbers]
    yours: dict[str, Numbers]
    right: dict[str, Numbers]
    wrong: dict[str, str]
    maps: tuple[AttentionMap, ...] = ()
