"""Claims that any reader takes for granted: dtypes, odd sizes, layouts, no memory, no device."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from grader.sandbox.faults import SubmissionError
from grader.suite.compare import expect, expect_close, expect_finite, fail
from grader.suite.marks import points
from grader.suite.trial import Trial
from grader.suite.weights import Module, set_weights

TIMES = (3, 32)  # that a sequence of 8 is said


@points(1)
def computes_in_float64(trial: Trial) -> None:
    """Nothing is narrowed on the way.

    At uniform weights even a scale that was rounded to float32 has no effect, so whatever a
    right submission misses to 1e-10 was narrowed. A wrong one is only held to its own values.
    """
    out, own, expected = _in_dtype(trial, torch.float64)
    expect_close(out, own, "float64 output", 1e-4)
    if float((out.detach().cpu() - expected).abs().max()) < 1e-4:
        expect_close(out, expected, "float64 output", 1e-10)


@points(1)
def computes_in_bfloat16(trial: Trial) -> None:
    """Models run in bfloat16; every tensor made on the way follows the input."""
    out, own, _ = _in_dtype(trial, torch.bfloat16)
    expect_close(out, own, "bfloat16 output")


def _in_dtype(trial: Trial, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """At uniform weights: the output in a dtype, the submission's own in float32, the right one."""
    module = trial.module()
    trial.level(module)
    x = trial.input()
    own = trial.run(module, x)
    if isinstance(module, nn.Module):
        module.to(dtype)
    inputs: list[tuple[Tensor, Tensor | None]] = [(x.to(dtype), None)]
    if trial.subject.masks:
        mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
        inputs.append((x.to(dtype), mask))
    out, *masked = trial.runs(module, inputs)
    for what, value in [("output", out), *(("output under a mask", under) for under in masked)]:
        names = [str(d).removeprefix("torch.") for d in (dtype, value.dtype)]
        expect(value.dtype == dtype, f"{what}: expected dtype {names[0]}, got {names[1]}")
        expect_finite(value, what)
    return out, own, trial.expected(module, x)


@points(1)
def handles_a_single_token(trial: Trial) -> None:
    """One position attends to itself with weight 1."""
    for sizes in (replace(trial.sizes, T=1), replace(trial.sizes, B=min(trial.sizes.B, 1))):
        module = trial.module(sizes)
        x = trial.input(sizes)
        out, twice = trial.runs(module, [x, torch.cat([x, x], dim=-2)])
        if sizes.T == 1:
            expect_close(out, trial.expected(module, x), f"output at x of shape {tuple(x.shape)}")
        again = twice[..., : sizes.T, :]
        expect_close(again, out, f"output at x of shape {tuple(x.shape)}, said twice")


@points(1)
def handles_a_long_sequence(trial: Trial) -> None:
    """No table or mask has a length of its own.

    A sequence that is said over and over gives what it gives once: every key has its copies.
    """
    module = trial.module()
    x = trial.input(replace(trial.sizes, T=8))
    further = trial.input(replace(trial.sizes, T=257))
    inputs = [*(torch.cat([x] * times, dim=-2) for times in (1, *TIMES)), further]
    once, *outs, last = trial.runs(module, inputs)
    for times, many in zip(TIMES, outs, strict=True):
        expected = torch.cat([once] * times, dim=-2)
        expect_close(many, expected, f"output at T = {8 * times}, a sequence said {times} times")
    expect_finite(last, "output at T = 257")


@points(1)
def handles_non_contiguous_input(trial: Trial) -> None:
    """A transposed or sliced tensor is as good as any."""
    module = trial.module()
    x = trial.input()
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], device=x.device)
    wide[..., ::2] = x
    layouts = {
        "transposed": x.transpose(0, 1).contiguous().transpose(0, 1),
        "features apart": wide[..., ::2],
        "one sequence repeated": x[:1].expand(x.shape),
    }
    outs = trial.runs(module, [*layouts.values(), *(x.contiguous() for x in layouts.values())])
    for name, got, plain in zip(layouts, outs, outs[len(layouts) :], strict=False):
        expect_close(got, plain, f"output for non-contiguous x ({name})")


@points(1)
def changes_no_input(trial: Trial) -> None:
    """The caller still needs what it passed in."""
    module = trial.module()
    x = trial.input()
    masks: list[Tensor | None] = [None]
    if trial.subject.masks:
        mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
        masks += [mask, mask.float()]
    for given in masks:
        trial.run(module, x, given)
        names = [("x", "attention_mask")[position] for position in trial.submission.changed]
        expect(not names, f"`{''.join(names[:1])}` was changed in place by the call")


@points(1)
def remembers_nothing(trial: Trial) -> None:
    """A call gives the same, whatever came before it."""
    module = trial.module()
    x = trial.input()
    trial.module(trial.subject.sizes[1])  # another one, of other sizes, is made before the call
    sizes = trial.sizes
    others: list[tuple[Tensor, Tensor | None]] = [
        (trial.input(replace(sizes, B=sizes.B and sizes.B + 1)), None),
        (trial.input(), None),
        (trial.input(replace(sizes, T=sizes.T + 2)), None),
    ]
    if trial.subject.masks:
        others.append((x, trial.draw.mask(sizes.B, sizes.T, sizes.T)))
    calls = [(x, None), *(call for other in others for call in (other, (x, None)))]
    first, *outs = trial.runs(module, calls)
    for (other, mask), out, again in zip(others, outs[::2], outs[1::2], strict=True):
        after = "another input" if mask is None else "a call with a mask"
        expect_close(again, first, f"output after {after}")
        if mask is None:
            fresh = trial.run(trial.module_like(module), other)
            expect_close(out, fresh, "output after another input")
    if isinstance(module, nn.Module):
        set_weights(module, trial.weights(sizes))
        fresh = trial.run(trial.module_like(module), x)
        expect_close(trial.run(module, x), fresh, "output after other weights are set")


@points(1)
def is_pinned_to_no_device(trial: Trial) -> None:
    """A tensor made without `device=` stays on the CPU when the module moves.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.
    """
    T = trial.sizes.T
    x = trial.input()
    given: list[tuple[Tensor, ...]] = [(x,)]
    if trial.subject.masks:
        given.append((x, torch.ones(T, T, device=trial.device)))
    trial.create().each(given)  # what fails here as well is no matter of devices
    module = trial.create()
    if isinstance(module, nn.Module):
        module.to("meta")
    moved = [tuple(value.to("meta") for value in call) for call in given]
    for training in (False, True) if isinstance(module, nn.Module) else (False,):
        if isinstance(module, nn.Module):
            module.train(training)
        _try_elsewhere(module, moved)


def _try_elsewhere(module: Module, given: list[tuple[Tensor, ...]]) -> None:
    try:
        outs = module.each(given)
    except SubmissionError as error:
        if error.fault.type != "MixedDevices" and not error.own:
            pytest.skip(f"without a GPU it cannot be tried on another device ({error})")
        line = error.fault.frames[-1] if error.fault.frames else None
        where = f" (line {line.line}: `{line.source}`)" if line else ""
        fail(f"{error.fault.message}{where}")
    there = all(isinstance(out, Tensor) and out.device.type == "meta" for out in outs)
    expect(there, "output: expected on the input's device, got it on the CPU")
