"""A contract of a method whose inputs are no floats; what a call makes and keeps; generators."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Input, Sizes, Weights, claims, linear
from grader.suite.situations.places import situations_of
from grader.suite.situations.trial import judge_situations
from grader.wire import values

Begin = Callable[[str], Session]
SOURCE = """
import torch
from torch import nn


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(7, 3)
        self.turn = nn.Linear(3, 3, bias=False)
        self.inside = nn.Dropout(0.0)

    def total(self, tokens):
        return self.turn(self.rows(tokens)).sum(2)

    def drawn(self, tokens, generator=None):
        return torch.rand(tokens.shape, generator=generator)

    def kept(self, tokens):
        with torch.no_grad():
            return self.total(tokens)

    def switched(self, tokens):
        self.inside.train(not self.training)
        return tokens

    def froze(self, tokens):
        self.rows.weight.requires_grad_(False)
        return tokens
"""


def some(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    return (draw.normal(*shape) * 100).long() % 7


def right(weights: Weights, sizes: Sizes, tokens: Tensor) -> Tensor:
    return linear(weights, "turn", weights["rows.weight"][tokens]).sum(2)


CONTRACT = Contract(
    entry="Table",
    method="total",
    sizes=(Sizes(B=2, T=5), Sizes(B=3, T=2)),
    inputs={"tokens": Input("B T", some, differentiable=False, kinds={"any": some})},
    outputs={"output": "B T"},
    parameters=lambda sizes: {"rows.weight": (7, 3), "turn.weight": (3, 3)},
    oracle=right,
)


@pytest.fixture
def harness(begin: Begin) -> Harness:
    return Harness(CONTRACT, begin(SOURCE), Draw(1), {}, seed=3)


def test_contract_of_a_method_is_held_in_all_situations(harness: Harness, begin: Begin) -> None:
    assert not judge_situations(harness).failures
    claims.keeps_shape_and_dtype(harness)
    claims.is_pinned_to_no_device(harness)
    wrong = SOURCE.replace("self.rows(tokens)", "self.rows(tokens).detach()")
    other = Harness(CONTRACT, begin(wrong), Draw(1), {}, frozenset(), 3)
    assert judge_situations(other).failures


def test_gradients_are_asked_of_parameters_where_no_input_has_any(harness: Harness) -> None:
    asked = {one.row["gradients"] for one in situations_of(harness)}
    assert asked == {"wanted", "with a layer frozen", "under no_grad", "in inference mode"}


def test_what_is_made_and_kept_is_counted_where_it_is_asked_for(harness: Harness) -> None:
    module = harness.module()
    few, many = ({"tokens": torch.zeros(2, T, dtype=torch.int64)} for T in (5, 500))
    calls = [module.call(inputs, report_counts=True) for inputs in (few, many)]
    kept, plain = module.call(few, method="kept", report_counts=True), module.call(few)
    harness.ask()
    assert 50 * calls[0].numbers_made < calls[1].numbers_made < 150 * calls[0].numbers_made
    assert calls[0].saved > 0 == kept.saved
    assert plain.numbers_made == plain.saved == 0


def test_generator_crosses_as_its_seed(harness: Harness) -> None:
    tokens, module = harness.inputs(), harness.module()
    drawn = [
        harness.batch.call(
            module.made or "",
            [((tokens["tokens"],), {"generator": torch.Generator().manual_seed(seed)})],
            method="drawn",
        )
        for seed in (1, 1, 2)
    ]
    harness.ask()
    first, again, other = (call.result() for call in drawn)
    assert torch.equal(first, torch.rand(2, 5, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_generator_goes_on_in_the_calls_of_a_step(harness: Harness) -> None:
    given = ((harness.inputs()["tokens"],), {"generator": torch.Generator().manual_seed(1)})
    drawn = harness.batch.call(harness.module().made or "", [given, given], method="drawn")
    harness.ask()
    generator = torch.Generator().manual_seed(1)
    for place in range(2):
        assert torch.equal(drawn.result(place), torch.rand(2, 5, generator=generator))


def test_generator_does_not_cross_back() -> None:
    tree = values.encode(torch.Generator(), [])
    assert values.decode(tree, []) == values.Opaque("Generator")


@pytest.mark.parametrize("mode", [False, True])
def test_whoever_is_training_goes_on_training_and_who_learns_on_learning(
    harness: Harness, mode: bool
) -> None:
    module = harness.module().train(mode)
    calls = [
        module.call(harness.inputs(), method=method, detect_inplace=True)
        for method in ("kept", "switched", "froze")
    ]
    harness.ask()
    assert calls[0].side_effects == []
    assert "switched between training and evaluation" in calls[1].side_effects[0]
    assert calls[2].side_effects == ["`rows.weight.requires_grad` was changed by the call"]
