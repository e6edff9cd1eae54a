"""top_k_routing: shares of the k likeliest experts."""

import torch
from torch import Tensor

from grader.suite import (
    Contract,
    Draw,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_gradient,
    points,
)


def distinct(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """No two of a row are equal, in bfloat16 neither: multiples of a quarter, row by row apart."""
    tokens, experts = shape
    rows = [draw.permutation(experts) for _ in range(tokens)]
    return (torch.stack(rows) - experts // 2 + draw.integers(-60, 60, tokens, 1)).float() / 4


def right(weights: Weights, sizes: Sizes, logits: Tensor) -> Tensor:
    """The softmax of the k largest logits."""
    least = logits.topk(sizes.K, dim=-1).values[:, -1:]
    return logits.masked_fill(logits < least, -torch.inf).softmax(-1)


contract = Contract(
    entry="top_k_routing",
    inputs={"logits": Input("T E", distinct, confined=True)},
    outputs={"weights": "T E"},
    sizes=(Sizes(T=5, E=7, K=3), Sizes(T=7, E=5, K=2), Sizes(T=3, E=5, K=5), Sizes(T=2, E=3, K=1)),
    fit=lambda sizes: sizes.replace(K=min(sizes.K, sizes.E)),
    oracle=right,
    arguments=lambda sizes: {"k": sizes.K},
)

test_weights_keep_shape_and_dtype = claims.keeps_shape_and_dtype
test_weights_match_the_formula = claims.matches_the_formula
test_gradient_of_the_logits_is_right = claims.input_gradient_is_right
test_logits_are_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device


def test_computes_in_float64(harness: Harness) -> None:
    """Nothing is cast to lower precision, added to the sum, which is never 0, or left out."""
    sizes = [harness.sizes, harness.sizes.replace(K=harness.sizes.E)]
    calls = [  # from 3 to 18 apart
        harness.module(one).call({"logits": harness.inputs(one)["logits"].double() * factor})
        for one, factor in zip(sizes, (1, 12), strict=True)
    ]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "weights in float64", tolerance=1e-10)


@points(2)
def test_others_have_exactly_nothing(harness: Harness) -> None:
    """An expert with a weight above 0 has to be computed, however little it is.

    exp(−500) is 0 in float32, and not in float64.
    """
    call = harness.module().call({"logits": harness.inputs()["logits"].double()})
    harness.ask()
    expect_close(call.out, call.expected, "weights", tolerance=1e-4)
    count = (call.out != 0).sum(-1)
    expect(bool((count == harness.sizes.K).all()), "weights: expected k of each token, not more")


@points(2)
def test_large_logits_do_not_overflow(harness: Harness) -> None:
    """exp(500) is infinite in float32, no weight is; and below -4e9 are logits as well.

    Where experts and tokens are far apart, a weight may be 0, and its logarithm infinite.
    """
    logits, module = harness.inputs()["logits"], harness.module()
    grad_output = harness.draw.normal(*logits.shape)
    calls = [
        module.call({"logits": large}, grad_output=grad_output)
        for large in (logits + 500, logits * 4096 - 4e9, logits * 1000)
    ]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "weights")
        gradient = expect_gradient(call.gradients["logits"], "logits")
        expect_close(gradient, call.right_gradients["logits"], "gradient of logits")


@points(2)
def test_k_out_of_range_is_refused(harness: Harness) -> None:
    """A token cannot have more experts than there are, nor none."""
    for k in (-1, 0, harness.sizes.E + 1):
        asked = Contract(
            entry="top_k_routing",
            inputs=contract.inputs,
            outputs=contract.outputs,
            sizes=contract.sizes,
            oracle=right,
            arguments=lambda sizes, k=k: {"k": k},
        )
        claims.call_raises(harness.of(asked), "ValueError", harness.inputs(), k)


def test_k_may_be_one_or_all(harness: Harness) -> None:
    """One expert has the whole weight; with all of them nothing is left out, however far apart."""
    calls = []
    for k in (1, harness.sizes.E):
        sizes = harness.sizes.replace(K=k)
        logits = harness.inputs(sizes)["logits"] + 1000 * torch.arange(sizes.T)[:, None]
        calls.append(harness.module(sizes).call({"logits": logits}))
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "weights")


def test_all_may_choose_the_same_of_many(harness: Harness) -> None:
    """An expert is never full, and numbers of experts fit into no byte."""
    sizes = harness.sizes.replace(T=331, E=401)
    logits = (torch.arange(sizes.E) / 4).repeat(sizes.T, 1)
    call = harness.module(sizes).call({"logits": logits})
    harness.ask()
    expect_close(call.out, call.expected, "weights")
