"""One situation in figures: sizes, weights, x and mask, drawn anew for each grading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.attention.situations.factors import (
    ANOTHER_INPUT,
    ANOTHER_LIFE,
    DROPPING,
    EVALUATION,
    NO_GRADIENTS,
    WAY,
)
from grader.attention.situations.masks import PATTERN, draw_mask, seen_by
from grader.suite.contract import Sizes
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.oracle import Weights
from grader.suite.situations.factors import Row

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
HEADS = (2, 3, 4, 6, 8)
FEW = 12  # positions, as there may be sequences
LARGER = 30
SOME = 30  # positions, up to which many features take no large part of the memory
MANY = 100  # positions, from which the other sizes are kept small
SQUARE = (4, 16)  # head sizes whose root is exact in every dtype


@dataclass(frozen=True)
class Situation:
    """What is tried, and how.

    Attributes:
        row: The level of each factor.
        rate: Of dropout; None where the constructor is given none.
        weights: In the situation's dtype.
        x: (B, T, C) or (T, C), as it lies in memory.
        mask: As it is given; None for none.
        visible: Queries that may attend to something, as a mask of the output's rows; None for all.
        grad_output: What gradients of the output are asked for, where they are.
        other_x: Of another call.
        other_mask: Of another call before this one, of the same shape; None for none.
        other_weights: That the module has first; none where it has its own at once.
        frozen: Parameters that are not to learn.
        coin: For what is done in one of two ways.
        right: What is right, by name, once it was computed: the same for whoever is tried.
    """

    row: Row
    contract: Any
    sizes: Sizes
    rate: float | None
    weights: Weights
    x: Tensor
    mask: Tensor | None
    visible: Tensor | None
    grad_output: Tensor
    other_x: Tensor
    other_mask: Tensor | None
    other_weights: Weights
    frozen: list[str]
    coin: bool
    right: dict[str, Any]

    @property
    def dtype(self) -> torch.dtype:
        """Of module and x."""
        return self.x.dtype

    @property
    def training(self) -> bool:
        """Whether the module is in training."""
        return self.row.get("mode", EVALUATION) != EVALUATION

    @property
    def drops(self) -> bool:
        """Whether weights are dropped."""
        return self.row.get("mode") == DROPPING

    @property
    def wants_gradients(self) -> bool:
        """Whether a backward follows; a row that may attend to nothing may make it NaN."""
        wanted = self.row["gradients"] not in NO_GRADIENTS
        return wanted and not self.method and self.visible is None

    @property
    def scale(self) -> float:
        """What gradients are multiplied by."""
        return {"times 65536": 65536.0, "times 1e-6": 1e-6}.get(self.row[WAY.name], 1.0)

    @property
    def learns_alone(self) -> bool:
        """Whether some other parameter learns while one layer is frozen, and x does not."""
        beside_residual = self.row[WAY.name] == "beside a residual"
        return self.coin and not beside_residual and len(self.frozen) < len(self.weights)

    @property
    def method(self) -> str:
        """The method that is called; empty for the module itself."""
        name = self.row.get("method", "forward")
        return "" if name == "forward" else name

    @property
    def about(self) -> tuple[str, ...]:
        """Claims that it is about beyond what its factors say."""
        dropping = ("drops_weights", "hidden_keys_stay_hidden_in_training") if self.drops else ()
        masked = ("matches_the_formula_under_a_mask",) if self.mask is not None else ()
        return (*dropping, *masked)

    @property
    def inputs(self) -> dict[str, Tensor | None]:
        """What it is called with."""
        return {"x": self.x, "attention_mask": self.mask}

    @property
    def size(self) -> int:
        """How many numbers x has: the smaller, the easier to look at."""
        return self.x.numel()


def fill(harness: Harness, row: Row, turn: int) -> Situation:
    """A situation of these levels, with numbers of its own.

    Args:
        harness: Draws them.
        row: The levels.
        turn: How many before it are about as long.
    """
    contract: Any = harness.contract
    if "arguments" in row:
        contract = contract.variants[row["arguments"]]
    sizes = _sizes(harness, row, turn)
    dtype = DTYPES[row["dtype"]]
    one = harness.of(contract)
    weights = {name: w.to(dtype) for name, w in _weights(one, row, sizes).items()}
    mask = None if row.get("mask", "none") == "none" else draw_mask(harness, row, sizes)
    smaller = LARGER if row.get("weights") == "large" else 1
    x = _laid_out((_x(one, row, sizes) / smaller).to(dtype), row["layout of x"])
    another = {**row, PATTERN: "random"}
    is_other_masked = mask is not None and row.get("history") == ANOTHER_INPUT
    others = one.weights(sizes) if row.get("history") in ANOTHER_LIFE else {}
    grad_output = harness.draw.normal(*sizes.shape(f"B T {contract.output_letter}")).to(dtype)
    return Situation(
        row=row,
        contract=contract,
        sizes=sizes,
        rate=_rate(harness, row),
        weights=weights,
        x=x,
        mask=mask,
        visible=seen_by(mask, sizes),
        grad_output=grad_output,
        other_mask=draw_mask(harness, another, sizes) if is_other_masked else None,
        other_x=(x * 0.5 + 0.25).contiguous(),
        other_weights={name: w.to(dtype) for name, w in others.items()},
        frozen=_frozen(harness, row, list(weights)),
        coin=bool(harness.draw.integer(0, 1)),
        right={},
    )


def _weights(harness: Harness, row: Row, sizes: Sizes) -> Weights:
    """Weights; where they are large, x is as much smaller."""
    drawn, gains = harness.weights(sizes), harness.contract.around_one
    match row.get("weights"):
        case "with biases of zero":
            return {n: w * (w.dim() > 1 or n in gains) for n, w in drawn.items()}
        case "small":
            return {n: w * (0.1 if w.dim() > 1 or n in gains else 1) for n, w in drawn.items()}
        case "large":
            return {n: w * (LARGER if w.dim() > 1 else 1) for n, w in drawn.items()}
    return drawn


def _frozen(harness: Harness, row: Row, names: list[str]) -> list[str]:
    """Names of all parameters, or of those of a layer, that are not to learn."""
    match row["gradients"]:
        case "of x alone":
            return names
        case "with a layer frozen":
            name = names[harness.draw.integer(0, len(names) - 1)]
            layer, dot, _ = name.rpartition(".")
            return [one for one in names if one == name or (dot and one.startswith(layer + dot))]
    return []


def _rate(harness: Harness, row: Row) -> float | None:
    contract: Any = harness.contract
    if not contract.dropout or row["mode"] == EVALUATION:
        return None if harness.draw.integer(0, 1) else 0.3
    return harness.draw.integer(10, 80) / 100 if row["mode"] == DROPPING else 0.0


def _sizes(harness: Harness, row: Row, turn: int) -> Sizes:
    draw, contract = harness.draw, harness.contract
    T = _length(draw, row["T"], turn)
    B = {"none": 0, "1": 1, "2": 2, "more": _many(draw, T)}[row["B"]]
    if "B" in row.get("mask", "") and row[PATTERN] != "all visible":
        B = max(B, 2)  # with one sequence, its mask is everybody's
    if row.get("mask") == "(T, T)" and T < FEW:
        B = T  # where a mask may be taken for one of another shape
    D = {
        "1": 1,
        "small": draw.integer(2, 5),
        "odd": 2 * draw.integer(3, 6) + 1,
        "even": 10 * draw.integer(1, 4) if draw.integer(0, 1) else 2 * draw.integer(3, 20),
        "square": SQUARE[draw.integer(0, 1)],
        "large": _large(draw, T),
    }[row["width"]]
    if contract.kinks is not None:
        D = max(D, 3)  # a norm of one or two features leaves nothing but signs
    if harness.sizes.get("E"):
        D = 128 if row["width"] == "large" and T < SOME and draw.integer(0, 1) else D
        wide = draw.integer(20, 110) if T < SOME and not draw.integer(0, 2) else 0
        return Sizes(B=B, T=T, C=wide or draw.integer(2, 9), E=D)
    if row.get("mode") == DROPPING:  # the vectors that are mixed have to be independent
        D = max(D, T + 12)
    match row.get("heads", "one"):
        case "several":
            H = HEADS[draw.integer(0, len(HEADS) - 1)]
            return Sizes(B=B, T=T, C=(D if row["width"] == "square" else -(-D // H)) * H, H=H)
        case "as many as features":
            D = min(D, 72)
            return Sizes(B=B, T=T, C=D, H=D)
    more = {"H": 1} if "H" in harness.sizes else {}
    return Sizes(B=B, T=T, C=D, **more)


def _large(draw: Draw, T: int) -> int:
    """So many features that it takes no long time; where T is small, sometimes very many."""
    if T < FEW and not draw.integer(0, 2):
        return draw.integer(130, 520)
    return draw.integer(65, 130 if T < SOME else 72)


def _length(draw: Draw, level: str, turn: int) -> int:
    """So many positions; of those about a power of two, each in its turn."""
    match level:
        case "small":
            return draw.integer(3, 9)
        case "any":
            return 10 * draw.integer(1, 10) if draw.integer(0, 1) else draw.integer(10, 120)
    return int(level) if level.isdigit() else int(level.split()[1]) + (turn + 1) % 3 - 1


def _many(draw: Draw, T: int) -> int:
    """So many sequences that it takes no long time."""
    if T > MANY:
        return 3
    return draw.integer(6, 20) if T < FEW and draw.integer(0, 1) else draw.integer(3, 5)


def _x(harness: Harness, row: Row, sizes: Sizes) -> Tensor:
    x = harness.input("x", sizes)
    place = harness.draw.integer(0, sizes.T - 1)
    match row["x"]:
        case "with a constant token":
            x[..., place, :] = float(x.std(correction=0))
        case "with a token of zeros":
            x[..., place, :] = 0
        case "of tokens near one another, far from 0":
            x = (x[..., :1, :] * 6 + 0.3 * x) if sizes.C > 1 else x
        case "of equal tokens":
            x = x[..., :1, :].expand(x.shape).contiguous()
        case "of zeros":
            x = torch.zeros_like(x)
        case "very large":
            some = (600, 600) if row["dtype"] == "bfloat16" else (60, 1000)
            x = x * some[harness.draw.integer(0, 1)]
        case "with a token far above the rest":
            x[..., place, :] *= 30
        case "very small":
            x = x * 1e-3
    return x


def _laid_out(x: Tensor, layout: str) -> Tensor:
    match layout:
        case "transposed":
            return x.transpose(0, 1).contiguous().transpose(0, 1)
        case "strided":
            wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype, device=x.device)
            wide[..., ::2] = x
            return wide[..., ::2]
        case "a part":
            before = torch.ones_like(x[..., :1, :])
            return torch.cat([before, x], dim=-2)[..., 1:, :]
        case "expanded" if x.dim() == 3:  # else all tokens would be the same
            return x[:1].expand(x.shape)
    return x
