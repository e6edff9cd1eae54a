"""A submission tried on inputs that the user chose."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

import torch
from torch import Tensor

from grader.errors import GradeError
from grader.records import OwnTry
from grader.suite.calls import PlannedCall
from grader.suite.compare import CheckFailed, expect_close, expect_integers
from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.right_results import sizes_of_call
from grader.suite.sizes import Sizes

MAX_INPUT_NUMBERS = 4096  # of an input of the user's: nobody reads more
OUTPUT_TOLERANCE = 1e-4  # relative to the largest value: right answers in float32 are closer


def try_on(harness: Harness, own: Mapping[str, Any], sizes: Mapping[str, int]) -> OwnTry:
    """Run a submission on inputs that the user chose; return its outputs and the right ones.

    Args:
        harness: Draws the weights, and the other inputs that a call needs.
        own: Numbers, or nested lists of them, by the names of inputs.
        sizes: Sizes by letter that the inputs do not determine: how many heads, say.

    Raises:
        GradeError: The inputs or sizes do not fit the contract.
        SubmissionError: The submission raised an exception.
        SubmissionRefused: The submission lacks the class, or its result cannot be looked at.
        WorkerEnded: The worker crashed, exited or took too long.
    """
    contract = harness.contract
    given = {name: _tensor(harness, name, value) for name, value in own.items()}
    if unknown := sizes.keys() - contract.sizes[0].keys():
        known = ", ".join(f"`{letter}`" for letter in contract.sizes[0])
        raise GradeError(f"there is no size `{min(unknown)}`; there is {known}")
    fitting = _sizes_for(contract, given, sizes)
    try:
        drawn = harness.inputs(fitting)
        inputs = {name: given.get(name, drawn.get(name)) for name in contract.inputs}
        call = harness.module(fitting).call({n: x for n, x in inputs.items() if x is not None})
        right = call.all_right_outputs
    except (RuntimeError, ValueError, IndexError):
        raise GradeError(f"nothing is right at {fitting}: they do not fit one another") from None
    harness.ask()
    yours, wrong = _outputs_and_faults(call, right)
    return OwnTry(
        made=_construction(contract, fitting),
        given={name: value.tolist() for name, value in call.tensors.items()},
        weights={name: value.tolist() for name, value in call.weights.items()},
        yours={name: value.tolist() for name, value in yours.items()},
        right={name: value.tolist() for name, value in right.items()},
        wrong=wrong,
        maps=() if wrong.keys() - yours.keys() else tuple(contract.maps_of(call)),
    )


def _tensor(harness: Harness, name: str, value: Any) -> Tensor:
    """Return an input as a Tensor of the contract's dtype, with a batch axis added if needed."""
    spec = harness.contract.inputs.get(name)
    if spec is None or spec.handed_on:
        there = [n for n, given in harness.contract.inputs.items() if not given.handed_on]
        listed = ", ".join(f"`{one}`" for one in there) or "none"
        raise GradeError(f"`{harness.contract.entry}` has no input `{name}`; it has {listed}")
    try:
        found = torch.tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise GradeError(f"`{name}`: rows of numbers have to be of one length each") from None
    if not bool(found.isfinite().all()):
        raise GradeError(f"`{name}`: expected finite numbers")
    if not 0 < found.numel() <= MAX_INPUT_NUMBERS:
        raise GradeError(
            f"`{name}`: 1 to {MAX_INPUT_NUMBERS} numbers can be looked at, not {found.numel()}"
        )
    dtype = harness.input(name).dtype
    if not torch.equal(found.to(dtype).double(), found) and not dtype.is_floating_point:
        raise GradeError(f"`{name}`: expected integers")
    words = spec.shape.split()
    needs_batch = words[:1] == ["B"] and not (harness.contract.unbatched or spec.optional)
    found = found.to(dtype)
    return found[None] if needs_batch and found.dim() == len(words) - 1 else found


def _sizes_for(contract: Contract, given: Mapping[str, Tensor], wanted: Mapping[str, int]) -> Sizes:
    """Return the sizes that the inputs determine, with the other sizes made to fit."""
    sizes = sizes_of_call(contract, contract.sizes[0].replace(**wanted), given)
    if "H" in sizes and "H" not in wanted and "C" in sizes:
        sizes = sizes.replace(H=gcd(sizes.H, sizes.C))
    if "G" in sizes and "G" not in wanted:
        sizes = sizes.replace(G=gcd(sizes.G, sizes.H))
    fitting = contract.fit(sizes)
    for name, value in given.items():
        letters = contract.inputs[name].shape
        shape = fitting.shape(letters)
        if not contract.inputs[name].optional and tuple(value.shape) != shape:
            raise GradeError(
                f"`{name}`: expected {fitting.named(letters)}, such as {shape}; "
                f"got the shape {tuple(value.shape)}"
            )
    return fitting


def _outputs_and_faults(
    call: PlannedCall, right: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the submission's outputs and, for those that are wrong, why; both by name."""
    wrong: dict[str, str] = {}
    try:
        yours = {**call.outs, **call.counts}
    except CheckFailed as failed:
        return {}, {call.contract.compared[0]: str(failed)}
    for name, value in yours.items():
        try:
            if name in call.contract.integers:
                expect_integers(value, right[name], name)
            else:
                expect_close(value, right[name], name, OUTPUT_TOLERANCE)
        except CheckFailed as failed:
            wrong[name] = str(failed)
    return yours, wrong


def _construction(contract: Contract, sizes: Sizes) -> str:
    arguments = contract.arguments(sizes).items()
    return f"{contract.entry}({', '.join(f'{name}={value!r}' for name, value in arguments)})"
