"""The factors width, E, H and groups: how many features there are, and in how many parts."""

from __future__ import annotations

from grader.suite.contract import Contract
from grader.suite.draw import Draw
from grader.suite.situations.factors import Factor, Row, Rule
from grader.suite.situations.history import HISTORIES_WITH_OTHER_WEIGHTS
from grader.suite.situations.lengths import LONG_LEVELS, SHORT_T

WIDTH = Factor("width", ("1", "small", "odd", "even", "square", "large"))
OTHER_WIDTH = Factor("E", ("1", "small", "as C", "odd", "large"))
# How many parts features are cut into, and how many groups these form.
PARTS = Factor("H", ("one", "several", "as many as features"))
GROUPS = Factor("groups", ("one", "several", "as many as H"))
SEVERAL_H = (2, 3, 4, 6, 8)
ABOVE_8_H_RANGE = (9, 16)
MEDIUM_T = 30  # positions, below which many features take no large part of the memory
MAX_H = 72
WIDE_FEATURES = 130  # from which on there are few positions
MAX_H_IF_WIDE = 136  # of one feature each, from ``WIDE_FEATURES`` features on
SQUARE_WIDTHS = (4, 16, 64)  # head sizes whose square root is exact in every dtype
# A situation both long and wide takes too long, and shows no more than either alone.
RULES: tuple[Rule, ...] = (
    (("T", "width"), lambda row: row["T"] not in LONG_LEVELS or row["width"] != "large"),
    (("S", "width"), lambda row: row["S"] not in LONG_LEVELS or row["width"] != "large"),
)


def has_width(contract: Contract) -> bool:
    """Return whether the contract has a number of features."""
    return "C" in contract.sizes[0] or "D" in contract.sizes[0]


def factors_of_parts(contract: Contract) -> list[Factor]:
    """Return the factors H and groups, as far as the contract has them."""
    if not has_width(contract):
        return []
    found = [PARTS] if any(sizes.get("H", 1) > 1 for sizes in contract.sizes) else []
    return [*found, GROUPS] if "G" in contract.sizes[0] else found


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


def draw_features(draw: Draw, row: Row, width: int, has_D: bool) -> dict[str, int]:
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


def largest_H(width: int) -> int:
    """Return the largest number of heads of one feature each that is tried at a width."""
    return MAX_H if width < WIDE_FEATURES else MAX_H_IF_WIDE
