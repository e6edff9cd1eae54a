"""cross_entropy: −log of the label's share, averaged."""

from collections.abc import Callable

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
    expect_close,
    points,
)

MANY = (  # N, K, dtype
    (1031, 3, torch.bfloat16),
    (1031, 3, torch.float64),
    (2, 65537, torch.bfloat16),
)


def some_labels(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Any of the classes."""
    return draw.integers(0, sizes.K - 1, *shape)


def right(weights: Weights, sizes: Sizes, logits: Tensor, labels: Tensor) -> Tensor:
    """Mean of log Σ exp(logits) − the label's logit."""
    rows = torch.arange(len(labels))
    return (logits.logsumexp(-1) - logits[rows, labels]).mean()


contract = Contract(
    entry="cross_entropy",
    inputs={
        "logits": Input("N K"),
        "labels": Input("N", some_labels, differentiable=False),
    },
    outputs={"loss": ""},
    sizes=(Sizes(N=5, K=7), Sizes(N=7, K=3)),
    oracle=right,
    is_exact=lambda sizes: True,
)

test_loss_is_a_scalar_of_the_dtype_of_the_logits = claims.keeps_shape_and_dtype
test_loss_matches_the_formula = claims.matches_the_formula
test_gradient_of_the_logits_is_right = claims.input_gradient_is_right


def expect_right(harness: Harness, logits: Tensor, labels: Tensor) -> None:
    """Loss and gradient there."""
    call = harness.module().call(
        {"logits": logits, "labels": labels}, grad_output=torch.tensor(1.0)
    )
    harness.ask()
    expect_close(call.out, call.expected, "loss")
    expect_close(call.gradients["logits"], call.right_gradients["logits"], "gradient of logits")


def and_right(claim: Callable[[Harness], None]) -> Callable[[Harness], None]:
    """A claim that zeros keep as well, held to the right values beside it."""

    def check(harness: Harness) -> None:
        claim(harness)
        inputs = harness.inputs()
        expect_right(harness, inputs["logits"], inputs["labels"])

    check.__doc__ = claim.__doc__
    return check


test_inputs_are_not_changed = and_right(claims.changes_no_input)
test_nothing_is_remembered = and_right(claims.remembers_nothing)
test_computes_in_bfloat16 = and_right(claims.computes_in_bfloat16)
test_no_tensor_is_pinned_to_a_device = and_right(claims.is_pinned_to_no_device)


@points(1)
def test_computes_in_float64(harness: Harness) -> None:
    """Nothing is cast to lower precision on the way."""
    inputs = harness.inputs()
    call = harness.module().call({**inputs, "logits": inputs["logits"].double()})
    harness.ask()
    expect_close(call.out, call.expected, "loss in float64", tolerance=1e-10)


@points(2)
def test_large_logits_stay_finite(harness: Harness) -> None:
    """exp(1000) is infinite in float32, the loss is not.

    Where all are 1e8, the logarithm of their count is lost in a sum.
    """
    inputs = harness.inputs()
    logits, labels = inputs["logits"], inputs["labels"]
    expect_right(harness, logits * 300 + 1000, labels)
    expect_right(harness, torch.full_like(logits, 1e8), labels)
    expect_right(harness, (logits * 8).round() * 8 + 1e8, labels)  # float32 is in steps of 8 there


@points(2)
def test_rows_far_apart_stay_finite(harness: Harness) -> None:
    """A row has a maximum of its own: beside one that is larger by 1000 it is there as well."""
    inputs = harness.inputs()
    count = len(inputs["labels"])
    shift = 1000.0 * (torch.arange(count) % 3 - 1)
    expect_right(harness, inputs["logits"] + shift[:, None], inputs["labels"])


@points(2)
def test_loss_of_an_unlikely_label_is_right(harness: Harness) -> None:
    """Where the share of the label underflows, the loss is large, and as large as it is."""
    inputs = harness.inputs()
    logits, labels = (inputs["logits"] * 64).round() / 64, inputs["labels"]  # differences are exact
    logits[torch.arange(len(labels)), labels] -= 9900
    expect_right(harness, logits, labels)


def test_many_rows_and_classes_are_right(harness: Harness) -> None:
    """In bfloat16 no sum over rows stays at 512, and the last of many classes is a label too."""
    for rows, classes, dtype in MANY:
        inputs = harness.inputs(Sizes(N=rows, K=classes))
        inputs["labels"][-1] = classes - 1
        expect_right(harness, inputs["logits"].to(dtype), inputs["labels"])
