"""Claims about ``attention_mask``: nonzero = may attend, zero = hidden."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.suite.call import PlannedCall
from grader.suite.compare import expect, expect_close, expect_differs, fail
from grader.suite.marks import points
from grader.suite.oracle import Weights
from grader.suite.trial import Trial

HIDDEN = 1  # the position that a mask hides from all


@points(2)
def matches_the_formula_under_a_mask(trial: Trial) -> None:
    """The visible keys share the whole weight among themselves."""
    calls = [
        trial.module(sizes).call(trial.input(sizes), trial.draw.mask(sizes.B, sizes.T, sizes.T))
        for sizes in (*trial.subject.sizes, trial.usual)
    ]
    for call in calls:
        expect_close(call.out, call.expected, "output under a mask")


@points(2)
def nonzero_may_attend(trial: Trial) -> None:
    """`nn.MultiheadAttention` means the opposite; mixing them up hides what should be seen."""
    sizes = trial.sizes.revealing()
    mask = trial.draw.mask(sizes.B, sizes.T, sizes.T)
    call = trial.module(sizes).call(trial.input(sizes), mask)
    weights = call.maps(call.out)[0].abs().amax(-2)  # over the heads
    hidden = weights[mask.cpu() == 0]
    visible = weights[mask.cpu() != 0]
    expect(
        bool(hidden.max() < 1e-3),
        f"expected weight 0 where the mask is zero, got up to {float(hidden.max()):.3g}",
    )
    seen = float(visible.max())
    expect(seen > 0.05, f"expected weight where the mask is nonzero, got up to {seen:.3g}")


@points(2)
def hidden_key_has_no_influence(trial: Trial) -> None:
    """Not a little: none, whatever stands at the hidden position."""
    module = trial.module()
    x, mask, others = _hiding(trial)
    changed = []
    for position, size in ((HIDDEN, 1.0), (HIDDEN, 30.0), (others[-1], 1.0)):
        other = x.clone()
        other[:, position] = trial.input()[:, HIDDEN] * size
        changed.append((other, mask))
    calls = module.calls([(x, mask), *changed])
    far = _under_far_scores(trial, module.weights, x, mask)
    before, *outs, seen = [call.out for call in calls]
    for got in outs:
        expect_close(got[:, others], before[:, others], "output of the visible positions")
    if far is not None:
        what = "output when a number is added to all scores of a query"
        expect_close(far.out, before.double(), what, 0.3)
    seen, before = seen[:, others[:-1]], before[:, others[:-1]]
    expect_differs(seen, before, "the output after a change at a visible position")


def _under_far_scores(
    trial: Trial, weights: Weights, x: Tensor, mask: Tensor
) -> PlannedCall | None:
    """Scores that all lie far from 0: a number that was filled in for a hidden one shows."""
    if trial.subject.shift_keys is None:
        return None
    shift = trial.draw.normal(trial.sizes.C) * 1.5e5
    return trial.module(weights=trial.subject.shift_keys(weights, shift)).call(x, mask)


def _hiding(trial: Trial) -> tuple[Tensor, Tensor, list[int]]:
    """x, a mask that hides one key from all, and the other positions."""
    T = trial.sizes.T
    mask = torch.ones(T, T, dtype=torch.bool, device=trial.device)
    mask[:, HIDDEN] = False
    return trial.input(), mask, [t for t in range(T) if t != HIDDEN]


@points(1)
def hidden_key_gets_no_gradient(trial: Trial) -> None:
    """A hidden future that gets gradient still leaks."""
    x, mask, others = _hiding(trial)
    weigh = trial.draw.normal(*trial.sizes.shape(trial.sizes.out))
    weigh[:, HIDDEN] = 0
    grad = trial.module().call(x, mask, weigh=weigh).gradients["x"]
    if grad is None:
        fail("x gets no gradient")
    hidden = grad[:, HIDDEN]
    expect_close(hidden, torch.zeros_like(hidden), "gradient of x at the hidden position")
    visible = grad[:, others]
    expect_differs(visible, torch.zeros_like(visible), "the gradient at the visible positions")


@points(1)
def mask_broadcasts(trial: Trial) -> None:
    """Padding gives (B, 1, T), causality (T, T): both broadcast to (B, T, T)."""
    B, T = trial.sizes.B, trial.sizes.T
    module, x = trial.module(), trial.input()
    masks = {
        "(T,)": trial.draw.mask(T),
        "(T, T)": trial.draw.mask(T, T),
        "(T, T), causal": torch.ones(T, T, device=trial.device).tril(),
        "(1, T, T)": trial.draw.mask(1, T, T),
        "(B, 1, T)": trial.draw.mask(B, 1, T),
        "(B, T, T)": trial.draw.mask(B, T, T),
    }
    queries = {
        "(B, T, 1)": torch.ones(B, T, 1, dtype=torch.bool, device=trial.device),
        "(1, T, 1)": torch.ones(1, T, 1, device=trial.device),
        "(T, 1)": torch.ones(T, 1, device=trial.device),
    }
    for mask in queries.values():
        mask[..., 0, :] = 0  # what a fully hidden row gives is left open: only others count
    whole = [mask.expand(B, T, T).contiguous() for mask in masks.values()]
    given = [*whole, *masks.values(), *queries.values()]
    calls = module.calls([x, *((x, mask) for mask in given)])
    square, mask = trial.input(replace(trial.sizes, B=T)), trial.draw.mask(T, T)
    squares = module.calls([(square, mask.expand(T, T, T).contiguous()), (square, mask)])
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
def mask_dtypes_mean_the_same(trial: Trial) -> None:
    """Zero hides and any other number shows, in bool, int and float."""
    module, x = trial.module(), trial.input()
    mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
    numbers = torch.where(trial.draw.normal(*mask.shape) > 0, 0.5, -3.0)
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
    calls = module.calls([x, (x, mask), *((x, given) for given in masks.values())])
    named = module.call(x, mask, named=True)
    unmasked, whole, *outs = [call.out for call in calls]
    expect_differs(whole, unmasked, "the output under a mask")
    for kind, out in zip(masks, outs, strict=True):
        expect_close(out, whole, f"output under a mask ({kind})")
    expect_close(named.out, whole, "mask given by name")
