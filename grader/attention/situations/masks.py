"""The factors of a mask: its shape, dtype, numbers and pattern, and how it is passed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.situations.factors import ABSENT, Factor, Row, Rule, Wish
from grader.suite.sizes import Sizes

MIXED_KINDS = ("ones", "tiny", "negative", "large")
OTHER_INT_DTYPES = (torch.int8, torch.int16, torch.int32)
HALF_DTYPES = (torch.float16, torch.bfloat16)
LARGE_BY_DTYPE = {  # numbers that the next narrower type takes for 0, or does not hold
    torch.uint8: 128, torch.int8: 64, torch.int16: 256, torch.int32: 2**16, torch.int64: 2**32,
}  # fmt: skip
CANCELLING = (-0.5, -1)  # negative numbers that get other signs, so that they add up to 0
TINY_BY_DTYPE = {torch.float64: 1e-60, torch.float32: 1e-40, torch.float16: 6e-5}  # else 1e-30
MASK_SHAPE = Factor(
    "mask",
    (
        "none", "()", "(1,)", "(T,)", "(1, T)", "(T, T)", "(1, 1, T)", "(B, 1, T)", "(B, T, 1)",
        "(B, 1, 1)", "(B, T, T)",
    ),
)  # fmt: skip
MASK_DTYPE = Factor(
    "dtype of the mask",
    (ABSENT, "bool", "uint8", "int64", "another int", "float32", "float64", "a half float"),
)
MASK_VALUES = Factor("numbers in the mask", (ABSENT, "ones", "tiny", "negative", "large", "mixed"))
MASK_PATTERN = Factor(
    "pattern of the mask", (ABSENT, "all visible", "one visible", "causal", "random")
)
MASK_GIVEN = Factor("mask given", (ABSENT, "by position", "by name"))
MASK_FACTORS = (MASK_DTYPE, MASK_VALUES, MASK_PATTERN, MASK_GIVEN)
MASK_WISH: Wish = (
    MASK_PATTERN.name, "random", lambda row: row["pattern of the mask"] == "all visible"
)  # fmt: skip


def _goes_with_a_mask(row: Row, name: str) -> bool:
    return (row[MASK_SHAPE.name] == "none") == (row[name] == ABSENT)


def _are_of_one_mask(row: Row, one: str, other: str) -> bool:
    return (row[one] == ABSENT) == (row[other] == ABSENT)


# A mask's dtype, numbers, pattern and way go with a mask, and with one another.
RULES: tuple[Rule, ...] = (
    *(
        ((MASK_SHAPE.name, factor.name), partial(_goes_with_a_mask, name=factor.name))
        for factor in MASK_FACTORS
    ),
    *(
        ((one.name, other.name), partial(_are_of_one_mask, one=one.name, other=other.name))
        for one, other in itertools.combinations(MASK_FACTORS, 2)
    ),
)


def draw_mask(harness: Harness, row: Row, sizes: Sizes) -> Tensor:
    """Draw a mask of the shape and the pattern of hidden keys that the row of levels names.

    A shape without an axis of keys hides whole queries or whole sequences instead, or nothing.
    """
    letters = {"B": sizes.B, "T": sizes.T, "1": 1}
    words = row["mask"].strip("()").replace(" ", "").split(",")
    shape = tuple(letters[word] for word in words if word)
    pattern = _PATTERNS[row[MASK_PATTERN.name]]
    if row["mask"].endswith("T)") or row["mask"] == "(T,)":
        chosen = pattern(harness, shape)
    elif row["mask"] == "(B, T, 1)" and row[MASK_PATTERN.name] != "all visible":
        chosen = pattern(harness, shape[:-1])[..., None]  # hides whole queries
    elif row["mask"] == "(B, 1, 1)" and row[MASK_PATTERN.name] != "all visible":
        chosen = pattern(harness, shape[:1])[:, None, None]  # hides whole sequences
    else:
        chosen = torch.ones(shape, dtype=torch.bool)
    chosen = _in_another_shape(harness, row, chosen)
    return _in_random_layout(harness.draw, _with_numbers(harness.draw, row, chosen))


def mask_forms() -> Mapping[str, Callable[[Draw, Tensor], Tensor]]:
    """Return functions, by name of a dtype, that write a bool mask as one of that dtype.

    Hidden keys get 0, visible ones nonzero numbers of a random kind; the layout in memory varies.
    """
    return {
        dtype: partial(_write_in_dtype, dtype) for dtype in MASK_DTYPE.levels if dtype != ABSENT
    }


def _write_in_dtype(dtype: str, draw: Draw, chosen: Tensor) -> Tensor:
    numbers = [level for level in MASK_VALUES.levels if level != ABSENT]
    row = {MASK_DTYPE.name: dtype, MASK_VALUES.name: numbers[draw.integer(0, len(numbers) - 1)]}
    return _in_random_layout(draw, _with_numbers(draw, row, chosen))


def _in_another_shape(harness: Harness, row: Row, chosen: Tensor) -> Tensor:
    """Return the mask, now and then with a leading axis of 1, or shared by queries or sequences.

    Where B equals T, its shape stays: a submission may take an axis for another of that size.
    """
    if harness.draw.integer(0, 2) or row["B"] == "as T":
        return chosen
    match row["mask"]:
        case "(T, T)" | "(1,)" | "(1, T)":
            return chosen[None]
        case "(B, T, T)":  # padding, repeated for each query
            return chosen[:, -1:].expand(chosen.shape)
        case "(B, T, 1)":
            return chosen[:1] if harness.draw.integer(0, 1) else chosen[0]
    return chosen


def _in_random_layout(draw: Draw, mask: Tensor) -> Tensor:
    """Return the same mask, now and then transposed in memory, part of a larger one or expanded."""
    for axis in (0, -2) if mask.dim() == 3 and draw.integer(0, 1) else ():
        first = mask.narrow(axis, 0, 1)
        if mask.size(axis) > 1 and bool((mask == first).all()):
            return first.expand(mask.shape)
    match draw.integer(0, 3) if mask.dim() > 1 else 0:
        case 1:
            return mask.mT.contiguous().mT
        case 2 | 3:  # cut from a larger one
            larger = torch.cat([mask[..., :1, :], mask], dim=-2)
            return torch.cat([larger, larger[..., :1]], dim=-1)[..., 1:, :-1]
    return mask


def _one_visible(harness: Harness, shape: tuple[int, ...]) -> Tensor:
    places = harness.draw.normal(*shape).cpu()
    return places == places.amax(-1, keepdim=True)


def _causal(harness: Harness, shape: tuple[int, ...]) -> Tensor:
    """Return a causal mask of this shape.

    A mask without an axis of queries hides padding instead; a mask (B, T, T) hides both.
    """
    T = shape[-1]
    square = len(shape) > 1 and shape[-2] == T
    past = torch.ones(shape, dtype=torch.bool).tril() if square else torch.ones(shape) > 0
    if square and len(shape) < 3:
        return past
    padded = torch.arange(shape[0] if len(shape) == 3 else 1) + T // 3
    lengths = (T - padded).clamp(min=1).reshape(-1, *(1,) * (len(shape) - 1))
    return past & (torch.arange(T) < lengths)


_PATTERNS: dict[str, Callable[[Harness, tuple[int, ...]], Tensor]] = {
    "all visible": lambda harness, shape: torch.ones(shape, dtype=torch.bool),
    "one visible": _one_visible,
    "causal": _causal,
    "random": lambda harness, shape: harness.draw.mask(*shape).cpu(),
}


def _with_numbers(draw: Draw, row: Row, chosen: Tensor) -> Tensor:
    """Return a bool mask as numbers: 0 for hidden keys, else of the kind and dtype in ``row``."""
    kind = row["dtype of the mask"]
    if kind == "bool":
        return chosen
    some = {"another int": OTHER_INT_DTYPES, "a half float": HALF_DTYPES}.get(kind)
    dtype = some[draw.integer(0, len(some) - 1)] if some else getattr(torch, kind)
    if row["numbers in the mask"] != "mixed":
        number = _number(draw, row, dtype)
        sign = cancelling_numbers(chosen) if number in CANCELLING else 1
        return chosen.to(dtype) * sign * torch.tensor(number, dtype=dtype)
    kinds = [_number(draw, {"numbers in the mask": one}, dtype) for one in MIXED_KINDS]
    kinds.append(torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).min or 2)
    each = torch.tensor(kinds, dtype=torch.float64).to(dtype)
    places = draw.normal(*chosen.shape).cpu().abs().mul(10).long() % len(kinds)
    return torch.where(chosen, each[places], torch.zeros((), dtype=dtype))


def cancelling_numbers(chosen: Tensor) -> Tensor:
    """Return numbers from -2 to 1 that add up to 0 over the visible keys of a row, if not just one.

    A mask of such numbers shows who takes a sum of 0 for a row where nothing is visible.
    """
    order = torch.atleast_1d(chosen).cumsum(-1)  # 1 for the first visible key, 2 for the second
    count = order[..., -1:]
    numbers: Tensor = 2 * (order % 2) - 1 - (order == 2).long() * (count % 2)
    return numbers.view(chosen.shape).to(torch.int8)


def _number(draw: Draw, row: Row, dtype: torch.dtype) -> float:
    match row["numbers in the mask"]:
        case "tiny":
            return TINY_BY_DTYPE.get(dtype, 1e-30) if dtype.is_floating_point else 1
        case "negative":
            if dtype.is_floating_point:
                return (CANCELLING[0], torch.finfo(dtype).min)[draw.integer(0, 1)]
            return 128 if dtype == torch.uint8 else CANCELLING[1]
        case "large":
            return LARGE_BY_DTYPE.get(dtype, 1e4)
    return 1


def queries_that_see(mask: Tensor | None, sizes: Sizes) -> Tensor | None:
    """Return which queries may attend to something, (B, T); None where all may."""
    if mask is None:
        return None
    rows = torch.broadcast_to(mask != 0, (max(sizes.B, 1), sizes.T, sizes.T)).any(-1).cpu()
    return None if bool(rows.all()) else rows
