"""Claims that any user takes for granted: dtypes, odd sizes, memory layouts, no hidden state."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.suite.calls import PlannedCall
from grader.suite.compare import (
    expect,
    expect_all_close,
    expect_close,
    expect_dtype,
    expect_finite,
)
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.oracle import Weights
from grader.suite.right_results import Inputs
from grader.suite.situations.implied import backed_by_situations, expect_right
from grader.suite.sizes import Sizes

SEQUENCE_REPETITIONS = (3, 32)  # of 8 tokens: most stubs promise 257 at most
TOKEN_REPETITIONS = 257  # of a single token; a prime, so that no block size divides it


@points(1)
@backed_by_situations
def computes_in_float64(harness: Harness) -> None:
    """Nothing is cast to lower precision on the way.

    Where the contract has an input at which no constant matters, even a scale that was rounded
    to float32 has no effect there, so whatever a right submission misses to 1e-10 was narrowed. A
    wrong one is only held to its own values.

    Example:
        test_computes_in_float64 = claims.computes_in_float64
    """
    call, own = _in_dtype(harness, torch.float64)
    expect_all_close(call.outs, own.outs, "in float64", 1e-4)
    gaps = [call.outs[name].detach().cpu() - right for name, right in own.right_outputs.items()]
    if max(float(gap.abs().max()) for gap in gaps) < 1e-4:
        extra_tolerance = harness.contract.extra_tolerance_at(call.tensors)
        expect_all_close(call.outs, own.right_outputs, "in float64", 1e-10 + extra_tolerance)


@points(1)
@backed_by_situations
def computes_in_bfloat16(harness: Harness) -> None:
    """Models run in bfloat16; every intermediate tensor takes the input's dtype.

    Example:
        test_computes_in_bfloat16 = claims.computes_in_bfloat16
    """
    call, own = _in_dtype(harness, torch.bfloat16)
    expect_all_close(call.outs, own.outs, "in bfloat16")


def _in_dtype(harness: Harness, dtype: torch.dtype) -> tuple[PlannedCall, PlannedCall]:
    """Return a call of the submission in the given dtype, and the same call in float32."""
    weights = harness.contract.plain_weights(harness.weights(harness.sizes))
    module, every = harness.module(weights=weights), harness.every_input()
    own = module.call(every[0])
    calls = module.to(dtype).calls([cast(inputs, dtype) for inputs in every])
    harness.ask()
    _ = own.outs
    for call, suffix in zip(calls, ("", " with everything given"), strict=False):
        for name, value in call.outs.items():
            expect_dtype(value, dtype, f"{name}{suffix}")
            expect_finite(value, f"{name}{suffix}")
    return calls[0], own


def cast(inputs: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Return the inputs with the float ones cast to a dtype."""
    return {n: v.to(dtype) if v.is_floating_point() else v for n, v in inputs.items()}


@points(1)
@needs(letters="T")
@backed_by_situations
def handles_a_single_token(harness: Harness) -> None:
    """A single position attends to itself with weight 1.

    Example:
        test_single_token = claims.handles_a_single_token
    """
    first, planned = harness.sizes, []
    for sizes in (first.replace(T=1), first.replace(B=min(first.B, 1))):
        inputs = harness.inputs(sizes)
        said_twice = _repeated(harness, inputs, sizes, 2)
        planned.append(harness.module(sizes).calls([inputs, said_twice]))
    harness.ask()
    for once, twice in planned:
        shape = tuple(next(iter(once.tensors.values())).shape)
        if once.module.sizes.T == 1:
            expect_all_close(once.outs, once.right_outputs, f"at x of shape {shape}")
        for name in once.along("T"):
            cut, out = twice.beginning(name, once.sizes.T), once.outs[name]
            expect_close(cut, out, f"{name} at x of shape {shape}, given twice")


@points(1)
@needs(letters="T")
@backed_by_situations
def handles_a_long_sequence(harness: Harness) -> None:
    """No table has a fixed length.

    A sequence that is said over and over gives what it gives once: every key has its copies.

    Example:
        test_long_sequence = claims.handles_a_long_sequence
    """
    module, first = harness.module(), harness.sizes
    short, token = first.replace(B=min(first.B, 1), T=8), first.replace(B=min(first.B, 2), T=1)
    cases = [(short, times) for times in SEQUENCE_REPETITIONS] + [(token, TOKEN_REPETITIONS)]
    calls = []
    for sizes, times in cases:
        inputs = harness.inputs(sizes)
        calls.append(module.calls([inputs, _repeated(harness, inputs, sizes, times)]))
    harness.ask()
    for (_, times), (once, many) in zip(cases, calls, strict=True):
        T = once.sizes.T * times
        for name, axis in once.along("T").items():
            expected = torch.cat([once.outs[name]] * times, dim=axis)
            what = f"{name} at T = {T}, a sequence repeated {times} times"
            expect_close(many.outs[name], expected, what)


def _repeated(
    harness: Harness, inputs: dict[str, Tensor], sizes: Sizes, times: int
) -> dict[str, Tensor]:
    """Return the inputs, with those that have a T axis repeated so many times along it."""
    axes = {name: sizes.axes(harness.contract.inputs[name].shape) for name in inputs}
    return {
        name: torch.cat([value] * times, dim=axes[name].index("T")) if "T" in axes[name] else value
        for name, value in inputs.items()
    }


@points(1)
@backed_by_situations
def handles_non_contiguous_input(harness: Harness) -> None:
    """A transposed or sliced tensor is as good as any other.

    Example:
        test_input_may_lie_in_any_order = claims.handles_non_contiguous_input
    """
    module, inputs = harness.module(), harness.inputs()
    planned = {}
    for name, x in inputs.items():
        for layout, value in _layouts(x).items():
            given = [{**inputs, name: value}, {**inputs, name: value.contiguous()}]
            planned[f"{name} ({layout})"] = module.calls(given)
    harness.ask()
    for what, (got, plain) in planned.items():
        expect_all_close(got.outs, plain.outs, f"for non-contiguous {what}")


def _layouts(x: Tensor) -> dict[str, Tensor]:
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype, device=x.device)
    wide[..., ::2] = x
    found = {"strided features": wide[..., ::2]}
    if x.dim() > 1:
        found["transposed"] = x.transpose(0, 1).contiguous().transpose(0, 1)
        found["one sequence repeated"] = x[:1].expand(x.shape)
    return found


@points(1)
@backed_by_situations
def changes_no_input(harness: Harness) -> None:
    """The caller still needs what it passed in.

    Example:
        test_input_is_not_changed = claims.changes_no_input
    """
    module = harness.module()
    every = harness.every_input()
    floats = {name: value.float() for name, value in every[-1].items()}
    if any(value.dtype == torch.bool for value in every[-1].values()):
        every.append(floats)
    calls = [module.call(inputs, detect_inplace=True) for inputs in every]
    harness.ask()
    for call in calls:
        _, names = call.outs, call.changed
        expect(not names, f"`{''.join(names[:1])}` was changed in place by the call")


@points(1)
def remembers_nothing(harness: Harness) -> None:
    """A call gives the same result, whatever came before it.

    Example:
        test_nothing_is_remembered = claims.remembers_nothing
    """
    module, sizes = harness.module(), harness.sizes
    # Made before the calls: modules must not share what a constructor remembers.
    _other = harness.module(harness.contract.sizes[-1])
    inputs, *whole = harness.every_input()
    changes = [{"B": sizes.B + 1}] if sizes.get("B") else []
    changes += [{}, *({letter: sizes[letter] + 2} for letter in "TS" if letter in sizes)]
    others = [harness.inputs(sizes.replace(**change)) for change in changes] + whole
    first, *calls = module.calls([inputs, *(c for other in others for c in (other, inputs))])
    fresh = [harness.module(weights=module.weights).call(other) for other in others]
    changed = module.set(harness.weights(sizes)).call(inputs)
    unused = harness.module(weights=module.weights).call(inputs)
    lent = _plan_functional_call(harness, module.weights, inputs)
    harness.ask()
    for alone, call, again in zip(fresh, calls[::2], calls[1::2], strict=True):
        after = "another input" if call.inputs.keys() == inputs.keys() else "a call with everything"
        expect_all_close(again.outs, first.outs, f"after {after}")
        expect_all_close(call.outs, alone.outs, "after another input")
    expect_all_close(changed.outs, unused.outs, "after other weights are set")
    for call in lent:
        expect_all_close(call.outs, unused.outs, "with weights that `functional_call` gives")
    expect_right(harness, "remembers_nothing")


def _plan_functional_call(harness: Harness, weights: Weights, inputs: Inputs) -> list[PlannedCall]:
    """Plan a call under ``functional_call``; in training, as evaluation may fold the weights."""
    contract = harness.contract
    if contract.parameters is None or contract.method:
        return []
    made = harness.module(weights=weights, **contract.deterministic).train()
    return [made.call(inputs, functional_weights=True)]
