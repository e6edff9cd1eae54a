"""Claims about ``attention_mask``: nonzero = may attend, zero = hidden."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.attention.contract import AttentionContract, causal_mask
from grader.attention.maps import recover_attention
from grader.suite.calls import PlannedCall
from grader.suite.compare import expect, expect_all_close, expect_close, expect_differs, fail
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.oracle import Weights
from grader.suite.situations.implied import backed_by_situations

HIDDEN_POSITION = 1  # of the key that a mask hides from all queries
FAR = 1e7  # times as large keys give scores of about as much; 1e8 is asked of none


@points(2)
@needs(AttentionContract, "masks")
@backed_by_situations
def matches_the_formula_under_a_mask(harness: Harness) -> None:
    """The visible keys share the whole weight among themselves.

    Example:
        test_masked_output_matches_the_formula = attention.matches_the_formula_under_a_mask
    """
    calls = [
        harness.module(sizes).call(harness.inputs(sizes, "attention_mask"))
        for sizes in (*harness.contract.sizes, harness.sizes.usual())
    ]
    harness.ask()
    for call in calls:
        expect_all_close(call.outs, call.right_outputs, "under a mask")


@points(2)
@needs(AttentionContract, "masks", "value_vectors")
@backed_by_situations
def nonzero_may_attend(harness: Harness) -> None:
    """`nn.MultiheadAttention` means the opposite; mixing them up hides what should be seen.

    Example:
        test_nonzero_in_the_mask_means_may_attend = attention.nonzero_may_attend
    """
    contract: Any = harness.contract
    sizes = contract.revealing(harness.sizes)
    inputs = harness.inputs(sizes, "attention_mask")
    mask = inputs["attention_mask"]
    call = harness.module(sizes).call(inputs)
    harness.ask()
    weights = recover_attention(call, call.out)[0].abs().amax(-2)  # over the heads
    hidden = weights[mask.cpu() == 0]
    visible = weights[mask.cpu() != 0]
    expect(
        bool(hidden.max() < 1e-3),
        f"expected weight 0 where the mask is zero, got up to {float(hidden.max()):.3g}",
    )
    seen = float(visible.max())
    expect(seen > 0.05, f"expected weight where the mask is nonzero, got up to {seen:.3g}")


@points(2)
@needs(AttentionContract, "masks")
def hidden_key_has_no_influence(harness: Harness) -> None:
    """A hidden position has no influence at all, whatever it holds.

    Example:
        test_hidden_key_has_no_influence = attention.hidden_key_has_no_influence
    """
    module = harness.module()
    x, mask, others = _hide_one_key(harness)
    changed = [x]
    for position, size in ((HIDDEN_POSITION, 1.0), (HIDDEN_POSITION, 3e4), (others[-1], 1.0)):
        other = x.clone()
        other[:, position] = harness.input("x")[:, HIDDEN_POSITION] * size
        changed.append(other)
    calls = module.calls([{"x": one, "attention_mask": mask} for one in changed])
    far = _under_far_scores(harness, module.whole_weights, changed[:2], mask)
    harness.ask()
    before, *outs, seen = [call.out for call in calls]
    for got, still in (*((out, before) for out in outs), *((b.out, a.out) for a, b in far)):
        expect_close(got[:, others], still[:, others], "output of the visible positions")
    seen, before = seen[:, others[:-1]], before[:, others[:-1]]
    expect_differs(seen, before, "the output after a change at a visible position")


def _under_far_scores(
    harness: Harness, weights: Weights, every: list[Tensor], mask: Tensor
) -> list[list[PlannedCall]]:
    """Queue calls whose scores all lie far above or below 0, with each x: a finite number shows.

    The result is empty where keys cannot be shifted.
    """
    contract: Any = harness.contract
    if contract.shift_keys is None:
        return []
    shift = harness.draw.normal(harness.sizes.C) * FAR
    modules = [harness.module(weights=contract.shift_keys(weights, by)) for by in (shift, -shift)]
    given = [{"x": x, "attention_mask": mask} for x in every]
    return [module.calls(given) for module in modules]


def _hide_one_key(harness: Harness) -> tuple[Tensor, Tensor, list[int]]:
    """Return x, a mask that hides one key from all queries, and the other positions."""
    T = harness.sizes.T
    mask = torch.ones(T, T, dtype=torch.bool)
    mask[:, HIDDEN_POSITION] = False
    return harness.input("x"), mask, [t for t in range(T) if t != HIDDEN_POSITION]


@points(1)
@needs(AttentionContract, "masks")
@backed_by_situations
def hidden_key_gets_no_gradient(harness: Harness) -> None:
    """A hidden future that gets a gradient still leaks.

    Example:
        test_hidden_key_gets_no_gradient = attention.hidden_key_gets_no_gradient
    """
    x, mask, others = _hide_one_key(harness)
    grad_output = harness.draw.normal(*harness.sizes.shape(harness.contract.out_shape))
    grad_output[:, HIDDEN_POSITION] = 0
    inputs = {"x": x, "attention_mask": mask}
    call = harness.module().call(inputs, grad_output=grad_output)
    harness.ask()
    grad = call.gradients["x"]
    if grad is None:
        fail("x gets no gradient")
    hidden = grad[:, HIDDEN_POSITION]
    expect_close(hidden, torch.zeros_like(hidden), "gradient of x at the hidden position")
    visible = grad[:, others]
    expect_differs(visible, torch.zeros_like(visible), "the gradient at the visible positions")


@points(1)
@needs(AttentionContract, "masks")
@backed_by_situations
def mask_broadcasts(harness: Harness) -> None:
    """A padding mask is (B, 1, T), a causal one (T, T): both broadcast to (B, T, T).

    Example:
        test_mask_of_every_shape = attention.mask_broadcasts
    """
    B, T = harness.sizes.B, harness.sizes.T
    module, x = harness.module(), harness.input("x")
    masks = {
        "(T,)": harness.draw.mask(T),
        "(T, T)": harness.draw.mask(T, T),
        "(T, T), causal": causal_mask(harness.sizes),
        "(1, T, T)": harness.draw.mask(1, T, T),
        "(B, 1, T)": harness.draw.mask(B, 1, T),
        "(B, T, T)": harness.draw.mask(B, T, T),
    }
    queries = {
        "(B, T, 1)": torch.ones(B, T, 1, dtype=torch.bool),
        "(1, T, 1)": torch.ones(1, T, 1),
        "(T, 1)": torch.ones(T, 1),
    }
    for mask in queries.values():
        mask[..., 0, :] = 0  # what a fully hidden row gives is left open: only others count
    whole = [mask.expand(B, T, T).contiguous() for mask in masks.values()]
    given = [*whole, *masks.values(), *queries.values()]
    calls = module.calls([{"x": x}, *({"x": x, "attention_mask": mask} for mask in given)])
    square, mask = harness.input("x", harness.sizes.replace(B=T)), harness.draw.mask(T, T)
    whole_mask = mask.expand(T, T, T).contiguous()
    squares = module.calls([{"x": square, "attention_mask": m} for m in (whole_mask, mask)])
    harness.ask()
    unmasked, *outs = [call.out for call in calls]
    for letters, right, got in zip(masks, outs, outs[len(masks) :], strict=False):
        expect_differs(right, unmasked, "the output under a mask")
        expect_close(got, right, f"output under a mask of shape {letters}")
    for letters, got in zip(queries, outs[-len(queries) :], strict=True):
        what = f"visible rows under a mask of shape {letters}"
        expect_close(got[:, 1:], unmasked[:, 1:], what)
    right, got = [call.out for call in squares]
    expect_close(got, right, "output under a mask of shape (T, T), at B = T")


@points(1)
@needs(AttentionContract, "masks")
@backed_by_situations
def mask_dtypes_mean_the_same(harness: Harness) -> None:
    """A mask hides where it is zero and shows where it is any other number: bool, int or float.

    Example:
        test_mask_dtypes_mean_the_same = attention.mask_dtypes_mean_the_same
    """
    module, inputs = harness.module(), harness.inputs(None, "attention_mask")
    x, mask = inputs["x"], inputs["attention_mask"]
    numbers = torch.where(harness.draw.normal(*mask.shape) > 0, 0.5, -3.0)
    masks = {
        "uint8": mask.byte(),
        "int64": mask.long(),
        "float32": mask.float(),
        "int64, with 2 for visible": mask.long() * 2,
        "int64, with 256 for visible": mask.long() * 256,
        "int32, with -1 for visible": mask.int() * -1,
        "float32, with 0.5 and -3 for visible": mask * numbers,
        "float32, with -0.5 for visible": mask * -0.5,
        "float64": mask.double(),
    }
    given = [{"x": x, "attention_mask": other} for other in (mask, *masks.values())]
    calls = module.calls([{"x": x}, *given])
    named = module.call(inputs, by_keyword=("attention_mask",))
    harness.ask()
    unmasked, whole, *outs = [call.out for call in calls]
    expect_differs(whole, unmasked, "the output under a mask")
    for kind, out in zip(masks, outs, strict=True):
        expect_close(out, whole, f"output under a mask ({kind})")
    expect_close(named.out, whole, "mask given by name")
