"""What the inputs of a contract may be in its situations: another width, other forms, silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from grader.attention.situations.masks import mask_forms
from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Input, Sizes, Weights
from grader.suite.situations.covering import rows_of
from grader.suite.situations.factors import Row
from grader.suite.situations.filling import fill
from grader.suite.situations.places import model_of
from grader.suite.situations.situation import Situation
from grader.suite.situations.trying import SituationRun

Begin = Callable[[str], Session]


def shown(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    return draw.mask(*shape)


def take(
    weights: Weights, sizes: Sizes, x: Tensor, other: Tensor, mask: Tensor | None = None
) -> Tensor:
    """A third of each token, with the mean of another input added; nothing where it is hidden."""
    out = x / 3 + other.mean((-2, -1), keepdim=True)
    return out if mask is None else out * (mask != 0)[..., None]


def must_be_zero(x: Tensor, other: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
    hidden = torch.zeros(x.shape[:2]) if mask is None else mask
    return dict.fromkeys(("output", "x"), (hidden == 0)[..., None] & (mask is not None))


contract = Contract(
    entry="take",
    sizes=(Sizes(B=3, T=5, C=7, S=2, E=11),),
    inputs={
        "x": Input("B T C"),
        "other": Input("B S E"),
        "mask": Input(
            "B T", shown, optional=True, differentiable=False, kinds={"some": shown},
            forms=mask_forms(),
        ),
    },
    oracle=take,
    must_be_zero=must_be_zero,
    is_exact=lambda sizes: True,
)  # fmt: skip
RIGHT = """
def take(x, other, mask=None):
    out = x / 3 + other.mean((-2, -1), keepdim=True)
    return out if mask is None else out.masked_fill((mask == 0)[..., None], 0)
"""
HIDES = "out.masked_fill((mask == 0)[..., None], 0)"


@cache
def rows() -> list[Row]:
    return rows_of(model_of(contract), Draw(3))


def filled(harness: Harness) -> list[Situation]:
    every = enumerate(rows())
    return [fill(harness.drawing(Draw(place)), row, place) for place, row in every]


@pytest.fixture
def situations(begin: Begin) -> list[Situation]:
    return filled(Harness(contract, begin(RIGHT), Draw(3), {}))


def test_other_width_has_levels_of_its_own(situations: list[Situation]) -> None:
    widths: dict[str, list[Situation]] = {}
    for one in situations:
        widths.setdefault(one.row["E"], []).append(one)
        other = one.inputs["other"]
        assert other is not None
        assert other.size(-1) == one.sizes.E
    assert widths.keys() == {"1", "small", "as C", "odd", "large"}
    assert all(one.sizes.E == one.sizes.C for one in widths["as C"])
    assert all(one.sizes.E == 1 for one in widths["1"])
    assert any(one.sizes.E > 128 for one in widths["large"])
    assert any(one.sizes.E > one.sizes.C for one in widths["odd"])


def test_input_is_written_down_in_each_of_its_forms(situations: list[Situation]) -> None:
    found = {str(one.inputs["mask"].dtype) for one in situations if one.inputs["mask"] is not None}
    assert {"torch.bool", "torch.uint8", "torch.int64", "torch.float32", "torch.float64"} <= found
    assert found & {"torch.float16", "torch.bfloat16"}


def test_call_before_has_another_mask(situations: list[Situation]) -> None:
    masked = [one for one in situations if one.inputs["mask"] is not None]
    for one in masked:
        assert one.earlier_inputs["mask"] is not None
    differs = [
        bool(((one.earlier_inputs["mask"] != 0) != (one.inputs["mask"] != 0)).any())
        for one in masked
    ]
    assert sum(differs) > len(masked) / 2


@pytest.mark.parametrize(
    ("source", "changes", "says"),
    [
        pytest.param(RIGHT, {}, "", id="right"),
        pytest.param(
            RIGHT.replace(HIDES, HIDES.replace(", 0)", ", 1e-9)")), {},
            "output: expected exactly 0 at some places", id="output",
        ),
        pytest.param(
            RIGHT.replace(HIDES, HIDES + " + 1e-9 * (x - x.detach())"), {},
            "gradient of x: expected exactly 0 at some places", id="gradient",
        ),
        pytest.param(
            RIGHT.replace(HIDES, HIDES.replace(", 0)", ", 1e-12)")), {"must_be_zero": None}, "",
            id="silence that nobody asked for",
        ),
        pytest.param(
            RIGHT.replace("x / 3", "(x.float() / 3).to(x.dtype)"), {}, "differ", id="narrowed"
        ),
        pytest.param(
            RIGHT.replace("x / 3", "(x.float() / 3).to(x.dtype)"),
            {"is_exact": lambda sizes: False}, "", id="rounded constants allowed",
        ),
    ],
)  # fmt: skip
def test_silence_and_the_last_digits_are_asked_for_where_the_contract_says_so(
    source: str, changes: dict[str, object], says: str, begin: Begin
) -> None:
    harness = Harness(replace(contract, **changes), begin(source), Draw(3), {})
    tried = [SituationRun(harness, situation) for situation in filled(harness)]
    harness.ask()
    reasons = [str(one.outcome().reason) for one in tried if one.outcome().reason]
    assert bool(reasons) == bool(says), reasons
    assert not says or any(says in reason for reason in reasons)
