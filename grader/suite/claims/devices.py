"""A claim about devices: a module works wherever it and its input are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from grader.sandbox.errors import SubmissionError
from grader.suite.calls import Call, Module, bound
from grader.suite.claims.robustness import cast
from grader.suite.compare import expect, expect_close, fail
from grader.suite.harness import Harness
from grader.suite.marks import points

ELSEWHERE = 40  # times as long as one call takes all those that are made on another device
SEED = 1  # of calls that are to give the same, whatever they draw
DTYPES = (torch.float32, torch.float64, torch.bfloat16)  # a module moves in any of them
STRANGE_GRADIENT = {"invalid", "gradient", "device", "meta"}  # torch refuses it in these words


@points(1)
def is_pinned_to_no_device(harness: Harness) -> None:
    """A tensor made without `device=` stays on the CPU when the module moves.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.
    """
    expect_on_any_device(harness, harness.every_input())


def expect_on_any_device(
    harness: Harness, every: list[dict[str, Tensor]], method: str = ""
) -> None:
    """Fail the check where one of these calls mixes devices, or reads a value back.

    On either device a call gives the same values: so one that sees where it is, and computes
    nothing there, fails as well.
    """
    module = harness.module(weights={})
    _expect_the_same_there(module, every, method)
    _expect_learning_there(harness, module.train(), every, method)
    for dtype in DTYPES if harness.contract.differentiable else DTYPES[:1]:
        inputs = cast(every[-1], dtype) if dtype != torch.float32 else every[-1]
        _expect_moves(harness, inputs, dtype, method)


def _expect_the_same_there(module: Module, every: list[dict[str, Tensor]], method: str) -> None:
    """Fail the check where a call mixes devices, or gives something else; then it is there."""
    plain = module.calls(every, method=method, seed=SEED)
    module.batch.send()
    _ = [call.result for call in plain]  # what fails here as well is no matter of devices
    module.renew().to(device="meta")  # the CPU's tensors of the calls before are no part of it
    calls = module.calls(every, method=method, seed=SEED, elsewhere=True)
    module.batch.send()
    _expect_there(calls)
    for call, here in zip(calls, plain, strict=True):
        for got, expected in zip(_outs(call), _outs(here), strict=False):
            known = [one for one in (got, expected) if isinstance(one, Tensor) and not one.is_meta]
            if len(known) == 2 and bool(expected.isfinite().all()):
                numbers = got if got.is_floating_point() else got.double()
                expect_close(numbers, expected.double(), "output on another device")


def _expect_moves(
    harness: Harness, inputs: dict[str, Tensor], dtype: torch.dtype, method: str
) -> None:
    """Fail the check where a module that was called before it moves does not follow."""
    module = harness.module(weights={}).to(dtype)
    here = module.call(inputs, method=method)
    there = module.to(device="meta").call(inputs, method=method, elsewhere=True)
    harness.ask()
    try:
        _ = here.result
    except SubmissionError:
        return  # what fails here as well is no matter of devices
    _expect_there([there])


def _expect_learning_there(
    harness: Harness, module: Module, every: list[dict[str, Tensor]], method: str
) -> None:
    """Fail the check where a forward or a backward in training is of two devices, or reads."""
    calls = []
    for inputs in every:
        given = _grad_outputs(module, inputs)
        with module.batch.apart():
            calls.append(
                module.call(
                    inputs, method=method, grad_output=given, way="accumulated", elsewhere=True
                )
            )
    module.batch.send()
    for call, inputs in zip(calls, every, strict=True):
        try:
            _expect_lies_there(call)
            call.expect_backward()
        except SubmissionError as error:
            # What torch does alone is not known to fail there.
            if error.fault.frames and _works_here(harness, inputs, method):
                _fail_by(error)
            on_cpu = set(error.fault.message.split()) >= STRANGE_GRADIENT
            expect(
                not on_cpu, "a backward gives a gradient on the CPU to what is on another device"
            )


def _works_here(harness: Harness, inputs: dict[str, Tensor], method: str) -> bool:
    """Whether a call in training raises nothing where all is on one device."""
    here = harness.module(weights={}).train().call(inputs, method=method)
    harness.ask()
    try:
        return here.result is not None
    except SubmissionError:
        return False


def _grad_outputs(module: Module, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    contract = module.contract
    sizes = bound(contract, module.sizes, inputs)
    letters = {name: contract.outputs[name] or "" for name in contract.compared}
    return {name: torch.ones(sizes.shape(one)) for name, one in letters.items()}


def _expect_there(calls: list[Call]) -> None:
    try:
        _ = [call.result for call in calls]
    except SubmissionError as error:
        _fail_by(error)
    for call in calls:
        _expect_lies_there(call)


def _fail_by(error: SubmissionError) -> None:
    line = error.fault.frames[-1] if error.fault.frames else None
    where = f" (line {line.line}: `{line.source}`)" if line else ""
    fail(f"{error.fault.message}{where}")


def _expect_lies_there(call: Call) -> None:
    there = all(
        isinstance(out, Tensor) and (out.device.type == "meta" or call.lies_elsewhere(out))
        for out in _outs(call)
    )
    expect(there, "output: expected on the input's device, got it on the CPU")


def _outs(call: Call) -> list[Any]:
    """What is looked at of what came."""
    result = call.result
    return list(result.values()) if isinstance(result, dict) else _compared(call, result)


def _compared(call: Call, result: object) -> list[Any]:
    """The outputs that are looked at."""
    if call.contract.tuples:
        return [call.every_part[name] for name in call.contract.compared]
    parts = result if isinstance(result, tuple) else (result,)
    pairs = zip(parts, call.contract.outputs.values(), strict=False)
    return [part for part, letters in pairs if letters is not None]
