"""A claim about devices: a module works wherever it and its input are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from grader.sandbox.errors import SubmissionError
from grader.suite.calls import PlannedCall
from grader.suite.claims.robustness import cast
from grader.suite.compare import expect, expect_close, fail
from grader.suite.harness import Harness
from grader.suite.marks import points
from grader.suite.modules import Module
from grader.suite.right_results import sizes_of_call

ELSEWHERE = 40  # calls in whose time all calls on another device can be made
MAX_COMPARED_NUMBERS = 1 << 21  # of an output on both devices; a right one has far fewer
LEARNED_KINDS = 2  # of inputs, without and with the optional ones, that a backward is asked of
SEED = 1  # of calls whose results must agree, whatever random numbers they draw
DTYPES = (torch.float32, torch.float64, torch.bfloat16)  # a module is moved in each of them
GRADIENT_DEVICE_ERROR_WORDS = {"invalid", "gradient", "device", "meta"}  # of torch's message


@points(1)
def is_pinned_to_no_device(harness: Harness) -> None:
    """A tensor made without `device=` stays on the CPU when the module moves.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.

    Example:
        test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device
    """
    expect_on_any_device(harness, [*harness.every_input(), *_in_each_form(harness)])


def _in_each_form(harness: Harness) -> Iterator[dict[str, Tensor]]:
    """Yield inputs of which one has another form: truths, whole numbers, others."""
    whole = harness.every_input()[-1]
    for name, given in harness.contract.inputs.items():
        written = (write(harness.draw, harness.input(name)) for write in given.forms.values())
        kinds = {(x.is_floating_point(), x.dtype == torch.bool): x for x in written}
        yield from ({**whole, name: x} for x in kinds.values())


def expect_on_any_device(
    harness: Harness, every: list[dict[str, Tensor]], method: str = ""
) -> None:
    """Fail the check if a call with one of these inputs mixes devices, or copies values to the CPU.

    A call has to give the same values on either device: so a module that detects the other device,
    and computes nothing there, fails as well.
    """
    module = harness.module(weights={})
    here = module.calls(every, method=method, seed=SEED)
    module.renew().to(device="meta")  # a new one keeps no CPU tensors of the calls before
    there = module.calls(every, method=method, seed=SEED, use_other_device=True)
    learning = _plan_learning_there(module.train(), every, method)
    moves = []
    for dtype in DTYPES if harness.contract.differentiable else DTYPES[:1]:
        inputs = cast(every[-1], dtype) if dtype != torch.float32 else every[-1]
        with harness.batch.apart():
            moves.append(_plan_move(harness, inputs, dtype, method))
    harness.ask()
    _expect_the_same(here, there)
    _expect_learning_there(harness, learning, every, method)
    for before, after in moves:
        _expect_moved(before, after)


def _expect_the_same(here: list[PlannedCall], there: list[PlannedCall]) -> None:
    """Fail the check if a call on another device mixes devices or gives other values than here."""
    _ = [call.result for call in here]  # an error here has nothing to do with devices
    _expect_there(there)
    for call, plain in zip(there, here, strict=True):
        for got, expected in zip(_outs(call), _outs(plain), strict=False):
            known = [one for one in (got, expected) if isinstance(one, Tensor) and not one.is_meta]
            count = max((one.numel() for one in known), default=0)
            expect(count <= MAX_COMPARED_NUMBERS, f"output: {count} numbers are far too many")
            if len(known) == 2 and bool(expected.isfinite().all()):
                numbers = got if got.is_floating_point() else got.double()
                expect_close(numbers, expected.double(), "output on another device")


def _plan_move(
    harness: Harness, inputs: dict[str, Tensor], dtype: torch.dtype, method: str
) -> tuple[PlannedCall, PlannedCall]:
    """Plan a call of a module on the CPU, and then one of the same on the other device."""
    module = harness.module(weights={}).to(dtype)
    here = module.call(inputs, method=method)
    return here, module.to(device="meta").call(inputs, method=method, use_other_device=True)


def _expect_moved(here: PlannedCall, there: PlannedCall) -> None:
    """Fail the check if a module that was called on the CPU then fails on another device."""
    try:
        _ = here.result
    except SubmissionError:
        return  # an error here has nothing to do with devices
    _expect_there([there])


def _plan_learning_there(
    module: Module, every: list[dict[str, Tensor]], method: str
) -> list[PlannedCall]:
    """Plan calls in training of a module that is on the other device already."""
    calls = []
    for kind, inputs in enumerate(every):
        given = _grad_outputs(module, inputs) if kind < LEARNED_KINDS else None
        with module.batch.apart():
            calls.append(
                module.call(
                    inputs,
                    method=method,
                    grad_output=given,
                    way="accumulated",
                    use_other_device=True,
                )
            )
    return calls


def _expect_learning_there(
    harness: Harness, calls: list[PlannedCall], every: list[dict[str, Tensor]], method: str
) -> None:
    """Fail the check if training on another device mixes devices or reads values there."""
    for call, inputs in zip(calls, every, strict=True):
        try:
            _expect_lies_there(call)
            call.expect_backward()
        except SubmissionError as error:
            # An error without a line of the submission may be torch's own, so it proves nothing.
            if error.fault.frames and _works_here(harness, inputs, method):
                _fail_by(error)
            on_cpu = set(error.fault.message.split()) >= GRADIENT_DEVICE_ERROR_WORDS
            expect(not on_cpu, "a backward gives a CPU gradient to a tensor on another device")


def _works_here(harness: Harness, inputs: dict[str, Tensor], method: str) -> bool:
    """Return whether a call in training raises no exception where all is on one device."""
    here = harness.module(weights={}).train().call(inputs, method=method)
    harness.ask()
    try:
        return here.result is not None
    except SubmissionError:
        return False


def _grad_outputs(module: Module, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    sizes = sizes_of_call(module.contract, module.sizes, inputs)
    shapes = module.contract.compared_shapes
    return {name: torch.ones(sizes.shape(one)) for name, one in shapes.items()}


def _expect_there(calls: list[PlannedCall]) -> None:
    try:
        _ = [call.result for call in calls]
    except SubmissionError as error:
        _fail_by(error)
    for call in calls:
        _expect_lies_there(call)


def _fail_by(error: SubmissionError) -> None:
    line = error.fault.frames[-1] if error.fault.frames else None
    where = f" (line {line.line}: `{line.source}`)" if line else ""
    fail(f"{error.message}{where}")


def _expect_lies_there(call: PlannedCall) -> None:
    tensors = [out for out in _outs(call) if isinstance(out, Tensor)]  # others: see other checks
    there = all(out.device.type == "meta" or call.lies_elsewhere(out) for out in tensors)
    expect(there, "output: expected on the input's device, got it on the CPU")


def _outs(call: PlannedCall) -> list[Any]:
    """Return the outputs of a call that the contract describes; for a dict, all its values."""
    result = call.result
    return list(result.values()) if isinstance(result, dict) else _compared(call, result)


def _compared(call: PlannedCall, result: object) -> list[Any]:
    """Return the parts of a result that the contract describes, not those only handed on."""
    if call.contract.tuples:
        return [call.every_part[name] for name in call.contract.compared]
    parts = result if isinstance(result, tuple) else (result,)
    pairs = zip(parts, call.contract.outputs.values(), strict=False)
    return [part for part, letters in pairs if letters is not None]
