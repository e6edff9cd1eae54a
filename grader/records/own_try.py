"""What a submission computes for the learner's own input, together with the right outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.records.report import AttentionMap

Numbers = Any  # a number, or lists of them


@dataclass(frozen=True)
class OwnTry:
    """One call of a submission with the learner's own input, with all that went into it.

    Attributes:
        made: How the module was made, or the function called: ``MultiHead(hidden_dim=2)``.
        given: The inputs by name: the learner's own, and those that were drawn at random.
        weights: The module's parameters, by name; their values are drawn at random.
        yours: The submission's outputs, by name.
        right: The right outputs, by name.
        wrong: What is wrong with each output that differs, by name.
        maps: Attention maps, if they can be told from the output.
    """

    made: str
    given: dict[str, Numbers]
    weights: dict[str, Numbers]
    yours: dict[str, Numbers]
    right: dict[str, Numbers]
    wrong: dict[str, str]
    maps: tuple[AttentionMap, ...] = ()
