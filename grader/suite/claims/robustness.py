"""Claims that any reader takes for granted: dtypes, odd sizes, layouts, no memory, no device."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.sandbox.remote import RemoteModule, SubmissionError
from grader.suite.claims.attention import level
from grader.suite.compare import expect, expect_close, fail
from grader.suite.marks import points
from grader.suite.subject import Module, Trial


@points(1)
def computes_in_float64(trial: Trial) -> None:
    """A float64 module on a float64 input loses no digits.

    At uniform weights even a scale that was rounded to float32 has no effect, so whatever is
    missing to 1e-10 was narrowed on the way.
    """
    module, x = _leveled(trial, torch.float64)
    out = trial.run(module, x)
    _expect_dtype(out, torch.float64)
    expect_close(out, trial.expected(module, x), "float64 output", 1e-10)


@points(1)
def computes_in_bfloat16(trial: Trial) -> None:
    """A bfloat16 module on a bfloat16 input gives bfloat16."""
    module, x = _leveled(trial, torch.bfloat16)
    out = trial.run(module, x)
    _expect_dtype(out, torch.bfloat16)
    expect_close(out, trial.expected(module, x), "bfloat16 output")


def _leveled(trial: Trial, dtype: torch.dtype) -> tuple[Module, Tensor]:
    module = trial.module()
    if isinstance(module, RemoteModule):
        module.to(dtype)
        level(trial, module)
    return module, trial.input().to(dtype)


def _expect_dtype(out: Tensor, dtype: torch.dtype) -> None:
    names = [str(d).removeprefix("torch.") for d in (dtype, out.dtype)]
    expect(out.dtype == dtype, f"output: expected dtype {names[0]}, got {names[1]}")


@points(1)
def handles_a_single_token(trial: Trial) -> None:
    """T = 1 and B = 1: one position attends to itself."""
    for sizes in (replace(trial.sizes, T=1), replace(trial.sizes, B=min(trial.sizes.B, 1))):
        module = trial.module(sizes)
        x = trial.input(sizes)
        expect_close(trial.run(module, x), trial.expected(module, x), f"output at {_label(x)}")


def _label(x: Tensor) -> str:
    return f"x of shape {tuple(x.shape)}"


@points(1)
def handles_a_long_sequence(trial: Trial) -> None:
    """T = 257 after a short sequence: nothing is cut to a block size."""
    module = trial.module()
    trial.run(module, trial.input())
    x = trial.input(replace(trial.sizes, T=257))
    expect_close(trial.run(module, x), trial.expected(module, x), "output at T = 257")


@points(1)
def handles_non_contiguous_input(trial: Trial) -> None:
    """The same values in another memory layout give the same output."""
    module = trial.module()
    x = trial.input()
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], device=x.device)
    wide[..., ::2] = x
    layouts = {
        "transposed": x.transpose(0, 1).contiguous().transpose(0, 1),
        "features apart": wide[..., ::2],
        "one sequence repeated": x[:1].expand(x.shape),
    }
    for name, layout in layouts.items():
        expected = trial.expected(module, layout)
        expect_close(trial.run(module, layout), expected, f"output for non-contiguous x ({name})")


@points(1)
def changes_no_input(trial: Trial) -> None:
    """``x`` and the mask are after the call what they were before."""
    module = trial.module()
    x = trial.input()
    mask = None
    if trial.subject.masks:
        mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
    given = {"x": x, "attention_mask": mask}
    before = {name: value.clone() for name, value in given.items() if value is not None}
    trial.run(module, x, mask)
    for name, value in before.items():
        unchanged = torch.equal(value, given[name])  # type: ignore[arg-type]  # None is not in it
        expect(unchanged, f"`{name}` was changed in place by the call")


@points(1)
def remembers_nothing(trial: Trial) -> None:
    """A call leaves no trace in the next, at the same and at other sizes."""
    module = trial.module()
    x = trial.input()
    expected = trial.expected(module, x)
    others = [replace(trial.sizes, B=trial.sizes.B and trial.sizes.B + 1), trial.sizes]
    others.append(replace(trial.sizes, T=trial.sizes.T + 2))
    for sizes in others:
        trial.run(module, trial.input(sizes))
        expect_close(trial.run(module, x), expected, "output after another input")
    if trial.subject.masks:
        trial.run(module, x, trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T))
        expect_close(trial.run(module, x), expected, "output after a call with a mask")


@points(1)
def is_pinned_to_no_device(trial: Trial) -> None:
    """After ``.to(device)`` everything happens on that device.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.
    """
    module = trial.create()
    if isinstance(module, RemoteModule):
        module.to("meta")
    T = trial.sizes.T
    mask = torch.empty(T, T, device="meta") if trial.subject.masks else None
    try:
        out = trial.run(module, trial.input().to("meta"), mask)
    except SubmissionError as error:
        if error.fault.type == "MixedDevices":
            line = error.fault.frames[-1] if error.fault.frames else None
            where = f" (line {line.line}: `{line.source}`)" if line else ""
            fail(f"{error.fault.message}{where}")
        raise
    expect(out.device.type == "meta", f"output: expected on the input's device, got {out.device}")
