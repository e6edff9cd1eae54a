"""Fill a situation of attention with numbers, a mask and a dropout rate among them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Self

from torch import Tensor

from grader.attention.situations.dropout import (
    DROPPING,
    EXACT_RATES,
    EXACT_WIDTH,
    LONG_DROPPING_T,
    MIN_EXTRA_FEATURES,
    draw_rate,
)
from grader.attention.situations.keeping import tells_what_is_kept
from grader.attention.situations.masks import MASK_PATTERN, draw_mask, queries_that_see
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.readable import Drawn
from grader.suite.situations.arguments import variant_of
from grader.suite.situations.dtype import in_dtype
from grader.suite.situations.factors import Row
from grader.suite.situations.gradients import NO_GRADIENTS, draw_frozen, draw_grad_outputs
from grader.suite.situations.history import (
    AFTER_ANOTHER_INPUT,
    FILLED_ANEW,
    HISTORY,
    draw_other_weights,
)
from grader.suite.situations.lengths import SHORT_T, draw_batch, draw_length, draw_own_letters
from grader.suite.situations.situation import Situation
from grader.suite.situations.tokens import draw_x_like, with_other_numbers
from grader.suite.situations.weights import draw_weights
from grader.suite.situations.widths import (
    ABOVE_8_H_RANGE,
    MEDIUM_T,
    SEVERAL_H,
    WIDE_FEATURES,
    draw_groups,
    draw_width,
    largest_H,
)
from grader.suite.sizes import Sizes

MAX_DRAWS = 3  # for one that shows what was dropped: where none does, none of twenty did


@dataclass(frozen=True, kw_only=True)
class AttentionSituation(Situation):
    """One situation of attention, with all that is needed to try it.

    Attributes:
        rate: Dropout rate passed to the constructor; None where none is passed.
        shows_kept_weights: Whether an output, however rounded, shows which weights were dropped.
    """

    contract: Any
    rate: float | None
    shows_kept_weights: bool = True

    @property
    def x(self) -> Tensor:
        """The input x, (B, T, C) or (T, C), as it lies in memory."""
        return self.tensors["x"]

    @property
    def drops(self) -> bool:
        """Whether weights are dropped."""
        return self.row.get("mode") == DROPPING

    @property
    def kept_rate(self) -> float:
        """The dropout rate in effect: the constructor's default where none is passed."""
        rate: float = self.contract.default_rate if self.rate is None else self.rate
        return rate

    @property
    def drops_exactly(self) -> bool:
        """Whether weights are dropped, and rounding changes neither 1/(1 - rate) nor 1/√C."""
        return self.drops and self.rate in EXACT_RATES and self.sizes.C == EXACT_WIDTH

    @property
    def method(self) -> str:
        """The method that is called; empty for the module itself."""
        name = self.row.get("method", "forward")
        return "" if name == "forward" else name

    @property
    def by_name(self) -> tuple[str, ...]:
        """The names of the inputs that are passed by keyword."""
        return ("attention_mask",) if self.row.get("mask given") == "by name" else ()

    @property
    def further_claims(self) -> tuple[str, ...]:
        """Names of claims that the situation is about, beyond those that its factors imply."""
        dropping = ("drops_weights", "hidden_keys_stay_hidden_in_training") if self.drops else ()
        masked = "attention_mask" in self.tensors
        return (*dropping, *(("matches_the_formula_under_a_mask",) if masked else ()))

    def without(self, names: Collection[str]) -> Self:
        """Return it with these weights set to 0, and ``shows_kept_weights`` determined anew."""
        bare = super().without(names)
        return replace(
            bare, shows_kept_weights=not bare.drops or _tells_what_is_kept(Draw(0), bare)
        )


def fill(harness: Harness, row: Row, turn: int) -> AttentionSituation:
    """Draw the numbers of a situation; the arguments are those of ``filling.fill``.

    Where weights are dropped, try ``MAX_DRAWS`` times to draw a situation whose output shows which
    weights were dropped, however the output is rounded.
    """
    for _ in range(MAX_DRAWS):
        situation = _fill(harness, row, turn)
        if not situation.drops or _tells_what_is_kept(harness.draw, situation):
            return situation
    return replace(situation, shows_kept_weights=False)


def _fill(harness: Harness, row: Row, turn: int) -> AttentionSituation:
    contract: Any = variant_of(harness.contract, row)
    own = draw_own_letters(harness.draw, contract, row, turn)
    sizes = contract.fit(Sizes(**{**harness.sizes, **_sizes(harness, row, turn), **own}))
    variant_harness = harness.of(contract)
    weights = in_dtype(row, draw_weights(variant_harness, row, sizes))
    mask = None if row.get("mask", "none") == "none" else draw_mask(harness, row, sizes)
    x = draw_x_like(variant_harness, row, "x", sizes)
    other_weights = draw_other_weights(variant_harness, row, sizes)
    grad_outputs = draw_grad_outputs(variant_harness, row, sizes)
    rate = draw_rate(harness, row)
    history = row.get(HISTORY.name)
    is_other_masked = mask is not None and history == AFTER_ANOTHER_INPUT
    other_mask = (
        draw_mask(harness, {**row, MASK_PATTERN.name: "random"}, sizes) if is_other_masked else None
    )
    refilled = mask  # with other numbers, in the tensor that has the mask later
    if mask is not None and history == FILLED_ANEW:
        refilled = mask.flip([*range(mask.dim())])
    frozen = draw_frozen(harness, row, list(weights))
    other_x = with_other_numbers(x)
    return AttentionSituation(
        row=row,
        contract=contract,
        sizes=sizes,
        rate=rate,
        changes={"dropout_rate": rate} if contract.dropout else {},
        weights=weights,
        inputs={"x": x, "attention_mask": mask},
        other_inputs={"x": other_x, "attention_mask": refilled},
        earlier_inputs={"x": other_x, "attention_mask": other_mask},
        grad_outputs=grad_outputs,
        other_weights=other_weights,
        frozen=frozen,
        coin=bool(harness.draw.integer(0, 1)),
        visible=queries_that_see(mask, sizes),
        right_answers={},
    )


def _tells_what_is_kept(draw: Draw, situation: AttentionSituation) -> bool:
    drawn = Drawn(situation.sizes, situation.weights, situation.inputs)
    call = drawn.planned(situation.contract)
    right = situation.right_answers["outputs"] = call.compute_right_outputs()
    (undropped,) = right.values()
    return tells_what_is_kept(call, situation.dtype, undropped, draw)


def _sizes(harness: Harness, row: Row, turn: int) -> Sizes:
    draw, contract = harness.draw, harness.contract
    T = draw_length(draw, row["T"], turn)
    B = draw_batch(draw, row, T)
    if "B" in row.get("mask", "") and row[MASK_PATTERN.name] != "all visible":
        B = max(B, 2)  # one sequence alone could not get another's mask
    if row.get("mask") == "(T, T)" and T < SHORT_T:
        B = T  # equal sizes, so that the mask may be taken for one of another shape
    D = draw_width(draw, row, T)
    if contract.kinks is not None:
        D = max(D, 3)  # a norm of one or two features leaves nothing but signs
    if harness.sizes.get("E"):
        D = 128 if 64 < D < WIDE_FEATURES and T < MEDIUM_T and draw.integer(0, 1) else D
        wide = draw.integer(20, 110) if T < MEDIUM_T and not draw.integer(0, 2) else 0
        wide = draw.integer(129, 255) if D > 1024 else wide
        # Where it takes no memory, x is as wide as what it becomes, which may then be held in x.
        is_held = row["width"] == "small" and row["gradients"] in NO_GRADIENTS
        wide = D if is_held or row["width"] in ("as T", "64") else wide
        return Sizes(B=B, T=T, C=wide or draw.integer(2, 9), E=D)
    if row.get("mode") == DROPPING:  # the value vectors have to be independent
        longest = LONG_DROPPING_T[row["dtype"]]
        T = longest + T % SHORT_T if longest < T else T
        D = max(D, T + MIN_EXTRA_FEATURES)
        D = EXACT_WIDTH if row["dtype"] == "float64" and D <= EXACT_WIDTH else D
    C, H = _heads(draw, row, D)
    more = {"H": H} if "H" in harness.sizes else {}
    return Sizes(B=B, T=T, C=C, **more, **draw_groups(draw, row, H))


def _heads(draw: Draw, row: Row, D: int) -> tuple[int, int]:
    """Return how many features a token has, and how many heads there are, for a drawn width."""
    match row.get("H", "one"):
        case "several" | "4" as level:
            H = 4 if level == "4" else SEVERAL_H[draw.integer(0, len(SEVERAL_H) - 1)]
            return (D if row["width"] == "square" else -(-D // H)) * H, H
        case "above 8":
            H = draw.integer(*ABOVE_8_H_RANGE)
            return draw.integer(2, 4) * H, H
        case "as many as features":
            D = min(D, largest_H(D))
            return D, D
    return D, 1
