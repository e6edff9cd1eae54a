"""Draw the sizes of a situation by its levels."""

from __future__ import annotations

from grader.suite.contract import Contract
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.situations.factors import Row
from grader.suite.situations.levels import HISTORIES_WITH_OTHER_WEIGHTS, own_letters
from grader.suite.sizes import Sizes

SEVERAL_H = (2, 3, 4, 6, 8)
SHORT_T = 12  # positions, below which a batch may have many sequences
MEDIUM_T = 30  # positions, below which many features take no large part of the memory
LONG_T = 100  # positions, above which the other sizes are kept small
MAX_H = 72
WIDE_FEATURES = 130  # from which on there are few positions
MAX_H_IF_WIDE = 136  # of one feature each, from ``WIDE_FEATURES`` features on
LARGE_BATCH_RANGE = (8, 24)  # sequences, where there are few positions
ABOVE_8_H_RANGE = (9, 16)
MANY_SCORES_T = 250  # positions, above which 5 sequences have more than 2**18 scores
SQUARE_WIDTHS = (4, 16, 64)  # head sizes whose square root is exact in every dtype
# Products in bfloat16 take ten times as long as in float32 on most processors.
MAX_B_IN_BFLOAT16 = 3  # of a large batch


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
        found |= _features(draw, row, D, "D" in found)
    if "E" in row and "C" in found:
        found["E"] = draw_other_width(draw, row["E"], found["C"])
    found |= draw_own_letters(draw, contract, row, turn)
    return contract.derived(contract.fit(Sizes(**found)))


def draw_own_letters(draw: Draw, contract: Contract, row: Row, turn: int) -> dict[str, int]:
    """Draw the sizes that are factors of their own by the row's levels; {} for a row without."""
    return {one: draw_length(draw, row[one], turn) for one in own_letters(contract) if one in row}


def _features(draw: Draw, row: Row, width: int, has_D: bool) -> dict[str, int]:
    """Draw the numbers of heads and groups; return C (or D), H and G, as far as the row has them.

    C, the features of a token, is made a multiple of H; D are those of each head.
    """
    letter = "D" if has_D else "C"
    if "H" not in row:
        return {letter: width}
    if has_D and row["H"] == "as many as features":
        width = min(width, MAX_H)  # otherwise, a request would send more numbers than it may
    several = SEVERAL_H[draw.integer(0, len(SEVERAL_H) - 1)]
    most = largest_H(width)
    H = {"one": 1, "several": several, "4": 4}.get(row["H"]) or min(width, most)
    found = {"H": H, letter: width}
    if not has_D:
        found["C"] = H * (width if row["width"] == "square" and most > H else -(-width // H))
    return found | draw_groups(draw, row, H)


def draw_groups(draw: Draw, row: Row, H: int) -> dict[str, int]:
    """Draw G, the number of groups of equal size that H heads form; {} for a row without groups."""
    if "groups" not in row:
        return {}
    divisors = [n for n in range(1, H + 1) if H % n == 0]
    between = divisors[1:-1] or divisors
    some = between[draw.integer(0, len(between) - 1)]
    return {"G": {"one": 1, "as many as H": H}.get(row["groups"], some)}


def draw_width(draw: Draw, row: Row, T: int) -> int:
    """Draw a number of features by the row's level of width; at many positions T, not too large."""
    # Every level is drawn, so that the random numbers that follow are the same for each.
    return {
        "64": 64,
        "1": 1,
        "small": draw.integer(2, 5),
        "odd": 2 * draw.integer(3, 6) + 1,
        "even": 10 * draw.integer(1, 4) if draw.integer(0, 1) else 2 * draw.integer(3, 20),
        "square": _square_width(draw, row),
        "large": _large_width(draw, row, T),
        "above 127": draw.integer(128, 136),
        "above 1024": draw.integer(1025, 1100),
        "as T": T,
    }[row["width"]]


def largest_H(width: int) -> int:
    """Return the largest number of heads of one feature each that is tried at a width."""
    return MAX_H if width < WIDE_FEATURES else MAX_H_IF_WIDE


def draw_other_width(draw: Draw, level: str, width: int) -> int:
    """Draw the number of features of an input whose width may differ from the model's."""
    match level:
        case "small":
            return draw.integer(2, 5)
        case "odd":
            return 2 * draw.integer(3, 12) + 1
        case "large":
            return draw.integer(65, 300)
    return width if level == "as C" else int(level)


def _square_width(draw: Draw, row: Row) -> int:
    drawn = SQUARE_WIDTHS[draw.integer(0, 1 if "H" in row else 2)]
    return SQUARE_WIDTHS[0] if "H" in row and row["dtype"] == "bfloat16" else drawn


def _large_width(draw: Draw, row: Row, T: int) -> int:
    """Draw a large number of features; a very large one in rows where T is 2 or small."""
    if T < SHORT_T and row.get("T") in ("2", "small"):
        is_cheap = (
            row["dtype"] == "float32" and row.get("history") not in HISTORIES_WITH_OTHER_WEIGHTS
        )
        return (
            draw.integer(500, 520)
            if is_cheap and draw.integer(0, 1)
            else draw.integer(WIDE_FEATURES, 200)
        )
    return draw.integer(65, WIDE_FEATURES - 1 if T < MEDIUM_T else 72)


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
