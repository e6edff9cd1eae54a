"""Gradients that are asked for in other ways, what a call leaves behind, inputs filled anew."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import get_args

import pytest
import torch

from grader.sandbox.errors import SubmissionError
from grader.sandbox.session import Session
from grader.wire.messages import BackwardVariant

Begin = Callable[[str], Session]
LAYER = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, size=3):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(size))

    def forward(self, x):
        {body}
        return (x @ self.weight).sigmoid()
"""
# What `checkpoint` does where nothing is said; torch's `grad` refuses it, `backward` does not.
REENTRANT = (
    "from torch.utils.checkpoint import checkpoint; "
    "return checkpoint(torch.sigmoid, x @ self.weight, use_reentrant=True)"
)


def layer(body: str = "pass") -> str:
    return LAYER.format(body=body)


@pytest.mark.parametrize(
    ("way", "body"), [*((way, "pass") for way in get_args(BackwardVariant)), ("plain", REENTRANT)]
)
def test_every_way_gives_the_same_gradients(begin: Begin, way: BackwardVariant, body: str) -> None:
    batch = begin(layer(body)).batch()
    x, weight, grad = torch.randn(2, 4, 3), torch.randn(3, 3), torch.randn(2, 4, 3)
    made = batch.create("Layer")
    leaf = x.clone().requires_grad_()
    call = batch.call(made, [((leaf,), {})], weights={"weight": weight}, grad_parameters=["weight"])
    back = batch.backward(call, {(0,): grad}, [weight], way)
    batch.send()
    sources = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
    right = torch.autograd.grad((sources[0] @ sources[1]).sigmoid(), sources, grad)
    found = back.gradients
    torch.testing.assert_close(found[0], right[0] + grad if way == "residual" else right[0])
    torch.testing.assert_close(found[1], right[1])


def test_gradients_are_added_to_those_of_a_step_before(begin: Begin) -> None:
    batch = begin(layer("self.zero_grad()")).batch()
    made, weight, grad = batch.create("Layer"), torch.randn(3, 3), torch.randn(4, 3)
    backs = []
    for _ in range(2):
        x = torch.randn(4, 3)
        call = batch.call(
            *(made, [((x,), {})]), weights={"weight": weight}, grad_parameters=["weight"],
            detect_inplace=True,
        )  # fmt: skip
        backs.append((call, batch.backward(call, {(0,): grad}, [weight], "accumulated")))
    batch.send()
    (first, _), (second, _) = backs
    assert first.results.side_effects == []
    assert second.results.side_effects == ["what `weight.grad` had gathered was lost in the call"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("self.register_buffer('seen', torch.ones(1))", "`seen` was added to the module"),
        ("self.weight.data.clamp_(-0.5, 0.5)", "parameter `weight` was given other values"),
        ("x.requires_grad_(True)", "`requires_grad` of an input was changed"),
        ("torch.set_grad_enabled(True)", "gradients were switched on or off"),
        ("torch.manual_seed(0)", "torch's random numbers were seeded"),
        ("torch.set_default_dtype(torch.float64)", "the default dtype was changed"),
        ("pass", ""),
    ],
)
def test_what_a_call_leaves_is_told(begin: Begin, body: str, says: str) -> None:
    batch = begin(layer(body)).batch()
    made = batch.create("Layer")
    call = batch.call(made, [((torch.randn(4, 3),), {})], detect_inplace=True)
    batch.send()
    left = call.results.side_effects
    assert says in left[0] if says else not left


def test_seed_does_not_tell_what_is_watched(begin: Begin) -> None:
    batch = begin("import torch\ndef f(x):\n    return torch.initial_seed() + 0 * len(x)\n").batch()
    ways = (False, True, True, False)
    calls = [batch.call("f", [((torch.ones(1),), {})], detect_inplace=way) for way in ways]
    batch.send()
    seeds = [call.result() for call in calls]
    assert len({(after - before) % 2**63 for before, after in pairwise(seeds)}) == 1
    assert len({seed % 2**32 for seed in seeds}) == len(seeds)  # a CPU sees no more of them


def test_form_feed_ends_no_line(begin: Begin) -> None:
    batch = begin("# \x0c\x0c\ndef f(x):\n    return x.nothing\n").batch()
    call = batch.call("f", [((torch.ones(1),), {})])
    batch.send()
    with pytest.raises(SubmissionError) as raised:
        call.result()
    assert raised.value.fault.frames[-1].source == "return x.nothing"


def test_backward_draws_other_numbers_than_its_call(begin: Begin) -> None:
    """Else what drops other weights when it computes anew would seem to drop the same ones."""
    source = """
import torch

class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + torch.rand(4)

    @staticmethod
    def backward(ctx, grad):
        return torch.rand(4)

f = Noisy.apply
"""
    batch = begin(source).batch()
    for watched in (False, True):
        x = torch.zeros(4, requires_grad=True)
        call = batch.call("f", [((x,), {})], grad_parameters=[], detect_inplace=watched)
        back = batch.backward(call, {(0,): torch.ones(4)})
        batch.send()
        (drawn,) = back.gradients
        assert drawn is not None
        assert not torch.equal(call.result(), drawn)


def test_input_that_is_changed_and_changed_back_is_changed(begin: Begin) -> None:
    batch = begin(layer("x.mul_(-1).mul_(-1)")).batch()
    call = batch.call(batch.create("Layer"), [((torch.randn(4, 3),), {})], detect_inplace=True)
    batch.send()
    assert call.results.changed == [0]


def test_tensor_that_is_filled_anew_is_the_same_one(begin: Begin) -> None:
    source = "seen = []\ndef f(x):\n    seen.append(id(x))\n    return x + len(set(seen))\n"
    batch = begin(source).batch()
    first, second = torch.zeros(2), torch.full((2,), 10.0)
    call = batch.call("f", [((first,), {}), ((second,), {})], refill_inputs=True)
    batch.send()
    assert call.result(0).tolist() == [1, 1]
    assert call.result(1).tolist() == [11, 11]


def test_kinds_of_input(begin: Begin) -> None:
    source = (
        "import torch\ndef f(x):\n"
        "    how = [x.is_inference(), x.requires_grad, x.is_leaf, x.storage_offset() > 0]\n"
        "    return torch.tensor(how).float()\n"
    )
    batch = begin(source).batch()
    x = torch.randn(3, 3)
    plain = batch.call("f", [((x,), {})])
    inference = batch.call("f", [((x,), {})], inference=True)
    learns = batch.call("f", [((x.clone().requires_grad_(),), {})], nonleaf_inputs=True)
    part = batch.call("f", [((x[1:],), {})])
    batch.send()
    found = [call.result().bool().tolist() for call in (plain, inference, learns, part)]
    assert found == [
        [False, False, True, False], [True, False, True, False],
        [False, True, False, False], [False, False, True, True],
    ]  # fmt: skip


def test_parameter_that_is_frozen_gets_no_gradient(begin: Begin) -> None:
    batch = begin(layer()).batch()
    x, weight = torch.randn(4, 3).requires_grad_(), torch.randn(3, 3)
    call = batch.call(
        *(batch.create("Layer"), [((x,), {})]), weights={"weight": weight},
        grad_parameters=["weight"], frozen=["weight"],
    )  # fmt: skip
    back = batch.backward(call, {(0,): torch.ones(4, 3)}, [weight])
    batch.send()
    assert back.gradients[0] is not None
    assert back.gradients[1] is None


def test_state_goes_into_another_module(begin: Begin) -> None:
    batch = begin(layer("assert not hasattr(self, 'once'); self.once = 1")).batch()
    made, weight, x = batch.create("Layer"), torch.randn(3, 3), torch.randn(4, 3)
    batch.call(made, [((x,), {})], weights={"weight": weight})
    batch.renew(made)
    call = batch.call(made, [((x,), {})])
    batch.send()
    torch.testing.assert_close(call.result(), (x @ weight).sigmoid())


def test_weights_that_are_lent_are_the_modules_during_the_call_alone(begin: Begin) -> None:
    batch = begin(layer()).batch()
    made, weight, x = batch.create("Layer"), torch.randn(3, 3), torch.randn(4, 3)
    lent = batch.call(made, [((x,), {})], weights={"weight": weight}, functional_weights=True)
    after = batch.call(made, [((x,), {})])
    batch.send()
    torch.testing.assert_close(lent.result(), (x @ weight).sigmoid())
    torch.testing.assert_close(after.result(), x.sigmoid())


def test_module_that_was_just_made_is_as_its_constructor_leaves_it(begin: Begin) -> None:
    batch = begin(
        "from torch import nn\nclass Mode(nn.Module):\n    def forward(self):\n"
        "        return self.training\n"
    ).batch()
    made = batch.create("Mode")
    calls = [batch.call(made, [((), {})], mode=mode) for mode in (None, False, None)]
    batch.send()
    assert [call.result() for call in calls] == [True, False, False]
