"""Claims that any reader takes for granted: dtypes, odd sizes, layouts, no memory, no device."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from grader.sandbox.faults import SubmissionError
from grader.sandbox.modules import RemoteFunction, RemoteModule
from grader.suite.compare import expect, expect_close, expect_finite, fail
from grader.suite.marks import points
from grader.suite.trial import Trial

TIMES = (3, 33)  # that a sequence of 8 is said
LENGTH = 257  # is prime: no block fits


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
    module, x = trial.levelled(), trial.input()
    own = module.call(x)
    inputs: list[tuple[Tensor, Tensor | None]] = [(x.to(dtype), None)]
    if trial.subject.masks:
        mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
        inputs.append((x.to(dtype), mask))
    calls = module.to(dtype).calls(inputs)
    own_out, out, *masked = [call.out for call in (own, *calls)]
    for what, value in [("output", out), *(("output under a mask", under) for under in masked)]:
        names = [str(d).removeprefix("torch.") for d in (dtype, value.dtype)]
        expect(value.dtype == dtype, f"{what}: expected dtype {names[0]}, got {names[1]}")
        expect_finite(value, what)
    return out, own_out, own.expected


@points(1)
def handles_a_single_token(trial: Trial) -> None:
    """One position attends to itself with weight 1."""
    planned = []
    for sizes in (replace(trial.sizes, T=1), replace(trial.sizes, B=min(trial.sizes.B, 1))):
        x = trial.input(sizes)
        planned.append(trial.module(sizes).calls([x, torch.cat([x, x], dim=-2)]))
    for once, twice in planned:
        T, what = once.module.sizes.T, f"output at x of shape {tuple(once.x.shape)}"
        if T == 1:
            expect_close(once.out, once.expected, what)
        expect_close(twice.out[..., :T, :], once.out, f"{what}, said twice")


@points(1)
def handles_a_long_sequence(trial: Trial) -> None:
    """No table or mask has a length of its own.

    A sequence that is said over and over gives what it gives once: every key has its copies.
    """
    module, sizes = trial.module(), trial.sizes
    x = trial.input(replace(sizes, B=min(sizes.B, 1), T=8))
    token = trial.input(replace(sizes, B=min(sizes.B, 2), T=1))
    said = [(x, times) for times in TIMES] + [(token, LENGTH)]
    calls = [module.calls([one, torch.cat([one] * times, dim=-2)]) for one, times in said]
    for (one, times), (once, many) in zip(said, calls, strict=True):
        expected = torch.cat([once.out] * times, dim=-2)
        T = one.shape[-2] * times
        expect_close(many.out, expected, f"output at T = {T}, a sequence said {times} times")


@points(1)
def handles_non_contiguous_input(trial: Trial) -> None:
    """A transposed or sliced tensor is as good as any."""
    x = trial.input()
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], device=x.device)
    wide[..., ::2] = x
    layouts = {
        "transposed": x.transpose(0, 1).contiguous().transpose(0, 1),
        "features apart": wide[..., ::2],
        "one sequence repeated": x[:1].expand(x.shape),
    }
    outs = trial.outs([*layouts.values(), *(x.contiguous() for x in layouts.values())])
    for name, got, plain in zip(layouts, outs, outs[len(layouts) :], strict=False):
        expect_close(got, plain, f"output for non-contiguous x ({name})")


@points(1)
def changes_no_input(trial: Trial) -> None:
    """The caller still needs what it passed in."""
    module, x = trial.module(), trial.input()
    masks: list[Tensor | None] = [None]
    if trial.subject.masks:
        mask = trial.draw.mask(trial.sizes.B, trial.sizes.T, trial.sizes.T)
        masks += [mask, mask.float()]
    for call in [module.call(x, given, watch=True) for given in masks]:
        _, names = call.out, call.changed
        expect(not names, f"`{''.join(names[:1])}` was changed in place by the call")


@points(1)
def remembers_nothing(trial: Trial) -> None:
    """A call gives the same, whatever came before it."""
    module, x, sizes = trial.module(), trial.input(), trial.sizes
    _other = trial.module(trial.subject.sizes[1])  # is made before the call, and of other sizes
    others: list[tuple[Tensor, Tensor | None]] = [
        (trial.input(replace(sizes, B=sizes.B and sizes.B + 1)), None),
        (trial.input(), None),
        (trial.input(replace(sizes, T=sizes.T + 2)), None),
    ]
    if trial.subject.masks:
        others.append((x, trial.draw.mask(sizes.B, sizes.T, sizes.T)))
    first, *calls = module.calls([(x, None), *(c for other in others for c in (other, (x, None)))])
    fresh = [trial.module(weights=module.weights).call(*other) for other in others]
    changed = module.set(trial.weights(sizes)).call(x)
    unused = trial.module(weights=module.weights).call(x)
    for alone, call, again in zip(fresh, calls[::2], calls[1::2], strict=True):
        after = "another input" if call.mask is None else "a call with a mask"
        expect_close(again.out, first.out, f"output after {after}")
        expect_close(call.out, alone.out, "output after another input")
    expect_close(changed.out, unused.out, "output after other weights are set")


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
    _live(trial).each(given)  # what fails here as well is no matter of devices
    module = _live(trial)
    if isinstance(module, nn.Module):
        module.to("meta")
    moved = [tuple(value.to("meta") for value in call) for call in given]
    for training in (False, True) if isinstance(module, nn.Module) else (False,):
        if isinstance(module, nn.Module):
            module.train(training)
        _try_elsewhere(module, moved)


def _live(trial: Trial) -> RemoteModule | RemoteFunction:
    """The submission's module or function itself, which can be moved."""
    if trial.subject.parameters is None:
        return trial.submission.function(trial.subject.name)
    return trial.create()


def _try_elsewhere(module: RemoteModule | RemoteFunction, given: list[tuple[Tensor, ...]]) -> None:
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
