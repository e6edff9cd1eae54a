"""The factors T, S and B, and letters of the contract's own: how many positions and sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from torch import Tensor

from grader.suite.contract import Contract
from grader.suite.draw import Draw
from grader.suite.situations.factors import Factor, Row, Rule
from grader.suite.situations.outcomes import SituationLike
from grader.suite.sizes import Sizes

SHORT_LEVELS = ("1", "2", "small", "as T")  # levels of at most 9 positions
LONG_LEVELS = ("about 128", "about 256")
LENGTHS = tuple(f"about {2**n}" for n in range(4, 9))
T = Factor("T", ("1", "2", "small", "any", *LENGTHS))
OTHER_LENGTH = Factor("S", ("1", "2", "small", "as T", "any", "about 64", "about 128"))
BATCH = Factor("B", ("1", "2", "more"))
BATCH_OR_NOT = Factor("B", ("none", "1", "2", "more"))
OWN_LETTER_LEVELS = ("1", "2", "small", "any")
# Of a letter that no input has: nobody knows what a large one costs, of layers, say.
ARGUMENT_LEVELS = OWN_LETTER_LEVELS[:-1]
SHORT_T = 12  # positions, below which a batch may have many sequences
LONG_T = 100  # positions, above which the other sizes are kept small
LARGE_BATCH_RANGE = (8, 24)  # sequences, where there are few positions
MANY_SCORES_T = 250  # positions, above which 5 sequences have more than 2**18 scores
# Products in bfloat16 take ten times as long as in float32 on most processors.
MAX_B_IN_BFLOAT16 = 3  # of a large batch
MIN_LONG_T = 10  # positions, of the longest that fails, if what fails there is about length
MAX_PLAIN_T = 4  # positions, as any sequence has: what fails there is not about length
SINGLE_TOKEN_CLAIM = "handles_a_single_token"
LONG_CLAIMS = ("handles_a_long_sequence", "handles_a_long_sequence_from_its_start")
# Which situations a claim is about.
APPLIES_TO: dict[str, Callable[[SituationLike], bool]] = {
    SINGLE_TOKEN_CLAIM: lambda one: one.sizes.length == 1,
    **dict.fromkeys(LONG_CLAIMS, lambda one: one.sizes.length > LONG_T),
}
# Only one axis is long: together they show no more than either alone.
RULES: tuple[Rule, ...] = (
    (("T", "S"), lambda row: row["T"] not in LONG_LEVELS or row["S"] not in LONG_LEVELS),
)


def factors_of(contract: Contract) -> list[Factor]:
    """Return the factors T, S and B, as far as the contract has them."""
    letters = contract.sizes[0]
    found = [one for one in (T, OTHER_LENGTH) if one.name in letters]
    if "B" in letters:
        found.append(BATCH_OR_NOT if contract.unbatched else BATCH)
    return found


def claims_about_length(failed: Sequence[SituationLike]) -> tuple[str, ...]:
    """Return which claims fail where T describes what fails: it is next to nothing, or large."""
    lengths = [one.sizes.T for one in failed]
    if max(lengths) <= 2:
        return (SINGLE_TOKEN_CLAIM,)
    is_about_length = max(lengths) >= MIN_LONG_T and min(lengths) > MAX_PLAIN_T
    return LONG_CLAIMS if is_about_length else ()


def claims_about_batch(failed: Sequence[SituationLike]) -> tuple[str, ...]:
    """Return which claims fail where B describes what fails, and there is a single sequence."""
    return () if any(one.sizes.B > 1 for one in failed) else (SINGLE_TOKEN_CLAIM,)


def is_long(row: Row) -> bool:
    """Return whether a row has so many positions that the computation grows large."""
    return row.get("T") in LONG_LEVELS or row.get("S") in LONG_LEVELS


def draw_length(draw: Draw, level: str, turn: int) -> int:
    """Draw a number of positions by a level such as ``small`` or ``about 16``.

    For ``about 16``, that is 16, 17 and 15 by turns, where ``turn`` counts the turns from 0.
    """
    match level:
        case "small":
            return draw.integer(3, 9)
        case "any":
            return 10 * draw.integer(1, 10) if draw.integer(0, 1) else draw.integer(10, 120)
        case "above 128":
            return draw.integer(129, 257)
        case "above 192":
            return draw.integer(193, 255)
    return int(level) if level.isdigit() else int(level.split()[1]) + (turn + 1) % 3 - 1


def draw_batch(draw: Draw, row: Row, T: int) -> int:
    """Draw the number of sequences, small enough not to take long; 0 means no batch axis."""
    match row["B"]:
        case "none":
            return 0
        case "more":
            return _large_batch(draw, row, T)
        case "above 64":
            return draw.integer(65, 130)
        case "as T":
            return T
    return int(row["B"])


def _large_batch(draw: Draw, row: Row, T: int) -> int:
    if T > LONG_T:
        B = 5 if T > MANY_SCORES_T and row.get("H", "one") == "one" else 3
    else:
        B = draw.integer(*LARGE_BATCH_RANGE) if T < SHORT_T else draw.integer(3, 5)
    return min(B, MAX_B_IN_BFLOAT16) if row["dtype"] == "bfloat16" else B


@cache  # each situation asks for it
def own_letters(contract: Contract) -> dict[str, tuple[str, ...]]:
    """Return the levels of each size letter that no other factor and no other letter determines.

    Such a letter stands in the shape of an input, or changes an argument (a rank, say).
    """
    sizes = contract.sizes[0]
    others = {*"TSBCD", *("EHG" if "C" in sizes else "HG" if "D" in sizes else "")}
    shapes = " ".join(given.shape for given in contract.inputs.values()).split()
    of_inputs = [letter for letter in dict.fromkeys(shapes) if letter in sizes]
    of_arguments = [one for one in sizes if one not in shapes and _changes_arguments(contract, one)]
    levels = {
        **dict.fromkeys(of_inputs, OWN_LETTER_LEVELS),
        **dict.fromkeys(of_arguments, ARGUMENT_LEVELS),
    }
    cases = (contract, *contract.variants.values())
    return {
        letter: some
        for letter, some in levels.items()
        if letter not in others and all(_is_free(one, letter) for one in cases)
    }


def _changes_arguments(contract: Contract, letter: str) -> bool:
    sizes = contract.sizes[0]
    one, other = map(contract.arguments, (sizes, _larger(sizes, letter)))
    return _comparable(one) != _comparable(other)


def _comparable(arguments: dict[str, Any]) -> dict[str, Any]:
    return {n: one.tolist() if isinstance(one, Tensor) else one for n, one in arguments.items()}


def _is_free(contract: Contract, letter: str) -> bool:
    other = _larger(contract.sizes[0], letter)
    return contract.derived(contract.fit(other))[letter] == other[letter]


def _larger(sizes: Sizes, letter: str) -> Sizes:
    return sizes.replace(**{letter: sizes[letter] + 2})


def draw_own_letters(draw: Draw, contract: Contract, row: Row, turn: int) -> dict[str, int]:
    """Draw the sizes that are factors of their own by the row's levels; {} for a row without."""
    return {one: draw_length(draw, row[one], turn) for one in own_letters(contract) if one in row}
