"""Planned calls of a submission's modules and functions, and their results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.sandbox.pending import PendingCalls, PendingGradients
from grader.suite.compare import (
    expect,
    expect_dtype,
    expect_floats,
    expect_tensor,
    expect_tuple,
)
from grader.suite.module_state import ModuleState
from grader.suite.right_results import Handle, Inputs, RightResults
from grader.wire.messages import BackwardVariant

GradientsByName = dict[str, Tensor | None]


class PlannedCall(RightResults):
    """A planned call of a module or a function, and its results once it has been sent.

    Whatever reads the results raises what ``PendingStep.answered`` raises, and ``CheckFailed``
    if the weights do not fit the module.

    Attributes:
        module: The module or function that is called.

    Example:
        def test_zeros_have_the_right_gradient(harness: Harness) -> None:
            'There as elsewhere.'
            x = harness.inputs()["x"] * 0
            grad_output = harness.draw.normal(*harness.sizes.shape("B T O"))
            call: PlannedCall = harness.module().call({"x": x}, grad_output=grad_output)
            harness.ask()
            expect_close(call.out, call.expected)
            expect_close(call.gradients["x"], call.right_gradients["x"], "gradient of x")
    """

    def __init__(
        self, module: ModuleState, pending: PendingCalls, place: int, inputs: Inputs
    ) -> None:
        super().__init__(module, inputs)
        self.module = module
        self._pending = pending
        self._place = place  # index among the calls of its step
        self._back: PendingGradients | None = None

    def plan_gradients(
        self, grad_output: Tensor | Mapping[str, Tensor], way: BackwardVariant = "plain"
    ) -> None:
        """Plan a request for the gradients of this call, to be sent with all that is planned.

        Args:
            grad_output: Gradient of the first compared output, or of outputs by name.
            way: Way in which the gradients are requested; see ``messages.BackwardVariant``.
        """
        if isinstance(grad_output, Tensor):
            grad_output = {self.contract.compared[0]: grad_output}
        self._grad_outputs = dict(grad_output)
        given = {self._path(name): grad for name, grad in grad_output.items()}
        learning = list(self._learning.values())
        self._back = self.module.batch.backward(self._pending, given, learning, way)

    def handle(self, name: str) -> Handle:
        """Return a handle that passes an output to a later call; only before this call is sent."""
        return Handle(self, name, self.output_reference(name))

    def handles(self, name: str) -> dict[str, Handle]:
        """Return a handle for each part of an output that is a tuple."""
        return {part: self.handle(part) for part in self.contract.parts_of(name)}

    def output_reference(self, name: str = "") -> Any:
        """Return a reference to an output, or to the whole result if no name is given.

        A later request may pass it on; the result itself is kept in the worker.
        """
        return self._pending.output(*(self._path(name) if name else (self._place,)))

    def _path(self, name: str) -> tuple[int | str, ...]:
        wholes, whole = self.contract.wholes(self.contract.outputs), self.contract.whole_of(name)
        inside = () if whole == name else (self.contract.parts_of(whole).index(name),)
        return (self._place, *(() if len(wholes) == 1 else (wholes.index(whole),)), *inside)

    @property
    def result(self) -> Any:
        """What the call returned; an ``Opaque`` stands for what cannot leave the worker."""
        self.module.expect_fit()
        return self._pending.result(self._place)

    @property
    def out(self) -> Tensor:
        """The first compared output, which must be a Tensor of floats of the right shape."""
        return self.outs[self.contract.compared[0]]

    @cached_property
    def outs(self) -> dict[str, Tensor]:
        """All compared outputs by name, each a Tensor of floats of the right shape."""
        found = {
            name: expect_tensor(part, self.sizes.shape(letters), name, self.sizes.named(letters))
            for name, letters, part in self._parts(self.contract.compared)
        }
        for name, out in found.items():
            expect_floats(out, name)
        return found

    @property
    def counts(self) -> dict[str, Tensor]:
        """The integer outputs by name, of the right shape; their dtype is not checked here."""
        return {
            name: expect_tensor(part, self.sizes.shape(letters), name, self.sizes.named(letters))
            for name, letters, part in self._parts(self.contract.integers)
        }

    def _parts(self, names: Sequence[str]) -> list[tuple[str, str, Any]]:
        """Return name, shape in letters, and value of each of these outputs."""
        there = self.every_part
        return [(name, self.contract.outputs[name] or "", there[name]) for name in names]

    @property
    def every_part(self) -> dict[str, Any]:
        """All outputs of the call by name, including those inside a tuple."""
        wholes = self.contract.wholes(self.contract.outputs)
        result = self.result
        found: dict[str, Any] = {}
        came = (result,) if len(wholes) == 1 else expect_tuple(result, wholes)
        for whole, value in zip(wholes, came, strict=True):
            names = self.contract.parts_of(whole)
            parts = expect_tuple(value, names) if whole in self.contract.tuples else (value,)
            found |= zip(names, parts, strict=True)
        return found

    def along(self, letter: str) -> dict[str, int]:
        """Return the compared outputs with an axis of this letter, and the index of the axis."""
        every = self.contract.compared_shapes.items()
        found = {name: letters for name, letters in every if letter in re.split(r"[ +]", letters)}
        return {name: self.sizes.axis(letters, letter) for name, letters in found.items()}

    def beginning(self, name: str, count: int) -> Tensor:
        """Return the first positions of a compared output, so many."""
        return self.outs[name].narrow(self.along("T")[name], 0, count)

    def expect_form(self, out: Tensor, dtype: torch.dtype, what: str) -> None:
        """Fail the check if an output has another dtype, or lay on another device in the worker."""
        expect_dtype(out, dtype, what)
        results, home = self._pending.results, self.module.batch.device
        pairs = zip(results.outputs, results.devices, strict=True)
        lay = next(device for one, device in pairs if one is out)
        at_home = lay.partition(":")[0] == home  # of several GPUs the worker has one
        expect(at_home, f"{what}: expected on {home}, got {lay}")

    @property
    def changed(self) -> list[str]:
        """Names of inputs that the call changed in place, if planned with ``detect_inplace``.

        Of several calls planned together, only the first can tell.
        """
        self.module.expect_fit()
        return self._names_of(self._pending.results.changed)

    @property
    def changed_by_backward(self) -> list[str]:
        """Names of inputs that the call's backward changed; it needs what ``changed`` needs."""
        return [] if self._back is None else self._names_of(self._back.changed)

    def _names_of(self, places: Sequence[int]) -> list[str]:
        names = [name for name in self.contract.inputs if name in self.tensors]
        return [names[place] for place in places if place < len(names)]

    def lies_elsewhere(self, out: Tensor) -> bool:
        """Return whether an output lies on the other device that the call's inputs were put on."""
        results = self._pending.results
        places = zip(results.outputs, results.on_other_device, strict=False)
        return any(there and out is one for one, there in places)

    @property
    def side_effects(self) -> list[str]:
        """What else the call or its backward left changed, such as the default dtype, in words.

        Like ``changed``, this needs ``detect_inplace``.
        """
        by_backward = [] if self._back is None else self._back.side_effects
        return [*self._pending.results.side_effects, *by_backward]

    @property
    def copied(self) -> int:
        """How many different numbers a tensor made by the call holds many times; 0 for none.

        How often is many is said by the option ``copies``, with which the call was planned.
        """
        self.module.expect_fit()
        return self._pending.results.copied

    def bytes_kept_alive(self, out: Tensor) -> int:
        """Return the bytes of memory that an output keeps alive, if the call measured them."""
        pairs = zip(
            self._pending.results.outputs, self._pending.results.storage_nbytes, strict=True
        )
        return next(size for one, size in pairs if one is out)

    @property
    def numbers_made(self) -> int:
        """How many numbers the call's operations produced, if the call counted them."""
        self.module.expect_fit()
        return self._pending.results.made

    @property
    def saved(self) -> int:
        """How many tensors were kept for a backward, if the call counted them."""
        self.module.expect_fit()
        return self._pending.results.saved

    @property
    def carries_gradients(self) -> bool:
        """Whether any output requires a gradient, so that a graph leads back from it."""
        return any(self._pending.results.grads)

    @property
    def gradients(self) -> GradientsByName:
        """The submission's gradients of the inputs and the weights, by name; None for no gradient.

        Raises:
            CheckFailed: The output carries no gradient.
        """
        tensors = self.tensors
        wanted = [name for name in self.contract.differentiable if name in tensors]
        names = [name for name in wanted if tensors[name].requires_grad]
        first = names[0] if names else "the inputs"
        _ = self.outs  # fails unless these are Tensors of the right shapes
        expect(
            self.carries_gradients,
            "the output carries no gradient: expected one that leads back to "
            f"{first} and the parameters",
        )
        assert self._back is not None
        return dict(zip([*names, *self._learning], self._back.gradients, strict=True))

    def expect_backward(self) -> None:
        """Raise any error of the backward, if one was planned, without looking at the gradients."""
        if self._back is not None:
            _ = self._back.answered
