"""Claims about a module's parameters and the form of its output."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.sandbox.errors import SubmissionError
from grader.suite.compare import CheckFailed, expect, fail
from grader.suite.contract import Contract
from grader.suite.fitting import likely_reason, shapes_without_aliases
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.modules import Module
from grader.suite.situations.implied import backed_by_situations
from grader.suite.sizes import Sizes

MAX_NUMBERS_IN_MESSAGE = 20  # one that lists more counts as giving none of them


@points(1)
@needs(Contract, "parameters")
def has_its_parameters(harness: Harness, sizes: Sizes | None = None) -> None:
    """A parameter that is not registered is never trained or saved.

    Example:
        test_parameters_are_those_of_the_contract = claims.has_its_parameters
    """
    try:
        every = (*harness.contract.variants.values(), harness.contract)
        for one in {one.parameters: one for one in every}.values():
            _has_its_parameters(harness.of(one), sizes)
        _has_its_defaults(harness)
    except (CheckFailed, SubmissionError):
        harness.tell_misfit()
        raise


def _has_its_defaults(harness: Harness) -> None:
    contract = harness.contract
    if contract.defaults:
        left_out: dict[str, Any] = dict.fromkeys(contract.defaults)
        module = harness.module(None, {}, **left_out)
        harness.ask()
        assert module.made is not None
        _ = module.made.answered


def _has_its_parameters(harness: Harness, sizes: Sizes | None = None) -> None:
    contract = harness.contract
    modules = [harness.module(one, {}) for one in ([sizes] if sizes else contract.sizes)]
    if contract.deterministic:
        modules.append(harness.module(modules[0].sizes, {}, **contract.deterministic))
    harness.ask()
    for module in modules:
        _has_those(contract, module)


def _has_those(contract: Contract, module: Module) -> None:
    """Fail the check unless a module has the parameters that its contract wants at its sizes."""
    assert contract.parameters is not None
    assert module.made is not None
    wanted = contract.parameters(module.sizes)
    found = module.made.parameters
    missing = [name for name in wanted if name not in found]
    shapes = shapes_without_aliases(found, wanted)
    extra = [name for name in shapes if name not in wanted]
    why = likely_reason(wanted, shapes, contract.every_argument)
    if missing:
        has = "the module has " + (", ".join(f"`{name}`" for name in found) or "none")
        fail(f"expected a parameter `{missing[0]}`; {why or has}")
    expect(not extra, f"expected no parameter `{''.join(extra[:1])}`; {why or 'remove it'}")
    for name, shape in wanted.items():
        got = found[name].shape
        expect(got == shape, f"`{name}`: expected shape {shape}, got {got}")
        learns, is_frozen = found[name].requires_grad, name in contract.frozen
        expect(learns or is_frozen, f"`{name}`: expected requires_grad=True, it is frozen")
        expect(
            not (learns and is_frozen), f"`{name}`: expected requires_grad=False, it is not frozen"
        )
    owners: dict[str, str] = {}
    for name in wanted:
        first = owners.setdefault(found[name].same_as, name)
        expect(first == name, f"`{name}` is the same parameter as `{first}`; expected two")


def constructor_raises(
    harness: Harness, kind: str, numbers: tuple[str, ...] = (), **arguments: int
) -> None:
    """Fail the check unless the constructor refuses these arguments with a kind of exception.

    Args:
        harness: Plans the call; the other arguments are those of the contract.
        kind: Name of the exception's class, or of a base of it.
        numbers: Arguments whose values the message has to give; all of them if empty.
        arguments: Constructor arguments to be refused.

    Example:
        def test_rank_below_one_is_refused(harness: Harness) -> None:
            'An adapter of no rank is a mistake of whoever asks for it.'
            claims.constructor_raises(harness, "ValueError", rank=0)
    """
    constructor_raises_for_each(harness, kind, [arguments], numbers)


def constructor_raises_for_each(
    harness: Harness,
    kind: str,
    every: Sequence[Mapping[str, int]],
    numbers: tuple[str, ...] = (),
) -> None:
    """Apply ``constructor_raises`` to each of these sets of arguments, in one request.

    Example:
        def test_every_rank_below_one_is_refused(harness: Harness) -> None:
            'A negative one as well.'
            claims.constructor_raises_for_each(harness, "ValueError", [{"rank": 0}, {"rank": -3}])
    """
    entry, usual = harness.contract.entry, harness.contract.arguments(harness.sizes)
    planned = []
    for arguments in every:
        given = {n: v for n, v in {**usual, **arguments}.items() if v is not None}
        with harness.batch.apart():
            planned.append(harness.batch.create(entry, (), given))
    harness.ask()
    for arguments, made in zip(every, planned, strict=True):
        call_text = f"{entry}({', '.join(f'{name}={value}' for name, value in arguments.items())})"
        values = (arguments[name] for name in numbers or arguments)
        expect_refusal(partial(getattr, made, "answered"), kind, call_text, *values)


def call_raises(harness: Harness, kind: str, inputs: Mapping[str, Tensor], number: int) -> None:
    """Fail the check unless a call raises this kind of exception, with a number in its message.

    Example:
        def test_no_expert_is_refused(harness: Harness) -> None:
            'A token needs one; the message has to give the number.'
            none = replace(harness.contract, arguments=lambda sizes: {"k": 0})
            claims.call_raises(harness.of(none), "ValueError", harness.inputs(), 0)
    """
    shapes = ", ".join(f"{name} of shape {tuple(value.shape)}" for name, value in inputs.items())
    call = harness.module().call(inputs)
    harness.ask()
    expect_refusal(lambda: call.result, kind, f"{harness.contract.entry}: {shapes}", number)


def expect_refusal(look: Callable[[], object], kind: str, given: str, *numbers: int) -> None:
    """Fail the check unless the submission raised a kind of exception, with numbers in its message.

    Args:
        look: Reads the result, and so raises what the submission raised.
        kind: Name of the exception's class, such as ``ValueError``.
        given: What has to be refused, in words.
        numbers: Numbers that the message has to give.
    """
    try:
        look()
    except SubmissionError as error:
        if error.todo:
            raise
        got = error.fault.type
        expect(kind in error.kinds, f"`{given}`: expected {kind}, got {got}")
        found_numbers = re.findall(r"-?\d+", error.fault.message)
        unsigned = (one.removeprefix("-") for one in found_numbers)  # it may be a hyphen
        known = {*found_numbers, *unsigned}
        is_list = len(found_numbers) > MAX_NUMBERS_IN_MESSAGE
        missing = [str(number) for number in numbers if is_list or str(number) not in known]
        wanted = "both numbers" if len(numbers) > 1 else "".join(missing)
        expect(not missing, f"`{given}`: expected {wanted} in the message")
    else:
        fail(f"`{given}`: expected {kind}, no exception was raised")


@points(1)
@backed_by_situations
def keeps_shape_and_dtype(harness: Harness) -> None:
    """The next layer relies on the output's shape, dtype and device.

    Example:
        test_output_keeps_shape_and_dtype = claims.keeps_shape_and_dtype
    """
    calls = [
        harness.module(sizes, {}).call(harness.inputs(sizes))
        for sizes in harness.contract.sizes[:2]
    ]
    harness.ask()
    for call in calls:
        given = list(call.tensors.values())
        floats = [value.dtype for value in given if value.is_floating_point()]
        for name, out in call.outs.items():
            call.expect_form(out, (*floats, torch.float32)[0], name)
