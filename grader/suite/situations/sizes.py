"""Draw the sizes of a situation by its levels."""

from __future__ import annotations

from grader.suite.harness import Harness
from grader.suite.situations.factors import Row
from grader.suite.situations.lengths import draw_batch, draw_length, draw_own_letters
from grader.suite.situations.widths import draw_features, draw_other_width, draw_width
from grader.suite.sizes import Sizes


def draw_sizes(harness: Harness, row: Row, turn: int) -> Sizes:
    """Draw the sizes of a situation, such as B and T, by the levels that its row names.

    A size that the row says nothing of is the one in ``contract.sizes[0]``.

    Args:
        harness: Gives the contract and the random numbers.
        row: The level of each factor, such as ``about 16`` for the factor T.
        turn: How many earlier situations are about as long; by turns, such a length is a power of
            two, one more or one less.
    """
    draw, contract = harness.draw, harness.contract
    found = dict(contract.sizes[0])
    T = found.get("T", 1)
    if "T" in row:
        T = found["T"] = draw_length(draw, row["T"], turn)
    if "S" in row:
        found["S"] = T if row["S"] == "as T" else draw_length(draw, row["S"], turn)
    longest = max(T, found.get("S", 1))
    if "B" in row:
        found["B"] = draw_batch(draw, row, longest)
    if "width" in row:
        D = draw_width(draw, row, longest)
        D = D if contract.kinks is None else max(D, 3)
        found |= draw_features(draw, row, D, "D" in found)
    if "E" in row and "C" in found:
        found["E"] = draw_other_width(draw, row["E"], found["C"])
    found |= draw_own_letters(draw, contract, row, turn)
    return contract.derived(contract.fit(Sizes(**found)))
