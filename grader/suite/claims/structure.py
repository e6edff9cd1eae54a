"""Claims about a module's parameters and the form of its output."""

from __future__ import annotations

import torch

from grader.sandbox.faults import SubmissionError
from grader.suite.compare import expect, fail
from grader.suite.marks import points
from grader.suite.subject import Sizes
from grader.suite.trial import Trial


@points(1)
def has_its_parameters(trial: Trial, sizes: Sizes | None = None) -> None:
    """A parameter that is not registered is never trained or saved."""
    sizes = sizes or trial.sizes
    module = trial.create(sizes)
    assert trial.subject.parameters is not None
    wanted = trial.subject.parameters(sizes)
    found = dict(module.named_parameters(remove_duplicate=False))
    missing = [name for name in wanted if name not in found]
    own = {id(found[name]) for name in wanted if name in found}  # a second name adds nothing
    extra = [name for name, parameter in found.items() if id(parameter) not in own]
    if missing:
        listing = ", ".join(f"`{name}`" for name in found) or "none"
        fail(f"expected a parameter `{missing[0]}`; the module has {listing}")
    expect(not extra, f"expected no parameter `{extra[0] if extra else ''}`; the contract has none")
    for name, shape in wanted.items():
        got = tuple(found[name].shape)
        expect(got == shape, f"`{name}`: expected shape {shape}, got {got}")
        expect(found[name].requires_grad, f"`{name}`: expected requires_grad=True, it is frozen")
    owners: dict[int, str] = {}
    for name in wanted:
        first = owners.setdefault(id(found[name]), name)
        expect(first == name, f"`{name}` is the same parameter as `{first}`; expected two")


def constructor_raises(trial: Trial, kind: str, **arguments: int) -> None:
    """These arguments are refused with an exception of this kind."""
    given = ", ".join(f"{name}={value}" for name, value in arguments.items())
    try:
        trial.submission.create(trial.subject.name, **arguments)
    except SubmissionError as error:
        if error.todo:
            raise
        got = error.fault.type
        expect(kind in error.kinds, f"`{trial.subject.name}({given})`: expected {kind}, got {got}")
        said = all(str(value) in error.fault.message for value in arguments.values())
        expect(said, f"`{trial.subject.name}({given})`: expected both numbers in the message")
    else:
        fail(f"`{trial.subject.name}({given})`: expected {kind}, no exception came")


@points(1)
def keeps_shape_and_dtype(trial: Trial) -> None:
    """The next layer relies on the form of the output."""
    inputs = {sizes: trial.input(sizes) for sizes in trial.subject.sizes[:2]}
    calls = [trial.module(sizes, {}).call(x) for sizes, x in inputs.items()]
    for x, call in zip(inputs.values(), calls, strict=True):
        out = call.out
        expect(out.dtype == x.dtype, f"output: expected dtype {_name(x)}, got {_name(out)}")
        device = call.result.device
        expect(device == x.device, f"output: expected on {x.device}, got {device}")


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
