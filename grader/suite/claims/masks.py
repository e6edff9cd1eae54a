"""Claims about ``attention_mask``: nonzero = may attend, zero = hidden."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.suite.compare import expect, expect_close
from grader.suite.marks import points
from grader.suite.subject import Module, Trial


@points(2)
def nonzero_may_attend(trial: Trial) -> None:
    """The output under a mask is the oracle's, at several sizes."""
    for sizes in trial.subject.sizes:
        module = trial.module(sizes)
        x = trial.input(sizes)
        mask = trial.draw.mask(sizes.B, sizes.T, sizes.T)
        expect_close(
            trial.run(module, x, mask, sizes=sizes),
            trial.expected(module, x, mask, sizes=sizes),
            "output under a mask",
        )


@points(2)
def hidden_key_has_no_influence(trial: Trial) -> None:
    """Whatever stands at a hidden position, the other positions' outputs stay."""
    module = trial.module()
    x, T = trial.input(), trial.sizes.T
    mask = torch.ones(T, T, dtype=torch.bool, device=trial.device)
    mask[:, 1] = False
    others = [t for t in range(T) if t != 1]
    expected = trial.expected(module, x, mask)[:, others]
    for size in (1.0, 300.0):
        other = x.clone()
        other[:, 1] = trial.input()[:, 1] * size
        got = trial.run(module, other, mask)[:, others]
        expect_close(got, expected, "output of the visible positions")


@points(1)
def hidden_key_gets_no_gradient(trial: Trial) -> None:
    """What nobody may look at gets no gradient from those who look elsewhere."""
    module = trial.module()
    x, T = trial.input().requires_grad_(), trial.sizes.T
    mask = torch.ones(T, T, dtype=torch.bool, device=trial.device)
    mask[:, 1] = False
    out = trial.run(module, x, mask)
    expect(out.requires_grad, "the output carries no gradient")
    weigh = trial.draw.normal(*out.shape)
    weigh[:, 1] = 0
    (grad,) = torch.autograd.grad((out * weigh).sum(), [x], allow_unused=True)
    expect(grad is not None, "x gets no gradient")
    expect_close(grad[:, 1], torch.zeros(grad[:, 1].shape), "gradient of x at the hidden position")
    right = trial.right_gradients(module, x, mask, weigh)["x"]
    expect_close(grad, right, "gradient of x under a mask", 1e-4)


@points(1)
def mask_broadcasts(trial: Trial) -> None:
    """Every shape that broadcasts to (B, T, T) works."""
    B, T = trial.sizes.B, trial.sizes.T
    module = trial.module()
    x = trial.input()
    shapes = {
        "(T,)": (T,),
        "(T, T)": (T, T),
        "(1, T, T)": (1, T, T),
        "(B, 1, T)": (B, 1, T),
        "(B, T, T)": (B, T, T),
    }
    for letters, shape in shapes.items():
        _try_mask(trial, module, x, trial.draw.mask(*shape), letters)
    queries = torch.ones(B, T, 1, dtype=torch.bool, device=trial.device)
    queries[:, 0] = False  # what a fully hidden row gives is left open: only the others count
    _try_mask(trial, module, x, queries, "(B, T, 1)", first_row=1)


def _try_mask(
    trial: Trial, module: Module, x: Tensor, mask: Tensor, letters: str, first_row: int = 0
) -> None:
    got = trial.run(module, x, mask)
    right = trial.expected(module, x, mask)
    expect_close(
        got[:, first_row:], right[:, first_row:], f"output under a mask of shape {letters}"
    )


@points(1)
def mask_dtypes_mean_the_same(trial: Trial) -> None:
    """Bool, int and float masks, with any nonzero number, hide the same keys."""
    module = trial.module()
    x = trial.input()
    mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
    expected = trial.expected(module, x, mask)
    numbers = torch.where(trial.draw.normal(*mask.shape) > 0, 0.5, -3.0)
    for kind, given in {
        "bool": mask,
        "int64": mask.long(),
        "float32": mask.float(),
        "int64, with 2 for visible": mask.long() * 2,
        "float32, with 0.5 and -3 for visible": mask * numbers,
    }.items():
        expect_close(trial.run(module, x, given), expected, f"output under a mask ({kind})")
