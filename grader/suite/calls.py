"""Planned modules of a submission, their calls, and the results that would be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, Unpack

import torch
from torch import Tensor

from grader.sandbox.batch import (
    CallArguments,
    CallOptions,
    PendingCalls,
    PendingGradients,
    PendingModule,
    RequestBatch,
)
from grader.sandbox.pace import Work
from grader.suite.compare import expect, expect_dtype, expect_tensor, expect_tuple, fail
from grader.suite.contract import Contract, Input, Sizes
from grader.suite.fitting import NO_DEVIATIONS, Deviations, bias_sizes
from grader.suite.known import compute_once
from grader.suite.oracle import Weights, exact, right_weights
from grader.suite.tolerance import Noise
from grader.wire.messages import BackwardVariant

_T = TypeVar("_T")


@dataclass(frozen=True)
class Handle:
    """An output of a planned call that a later call takes as input; it never leaves the worker."""

    call: PlannedCall
    name: str


Inputs = Mapping[str, "Tensor | Handle | None"]  # by name; None for one that is left out
GradientsByName = dict[str, Tensor | None]


class Module:
    """A planned module of the submission, or its function, for planning steps with it.

    Planned steps wait in the batch until it is sent; they are carried out in order.

    Attributes:
        contract: Contract whose entry the module or function is.
        batch: Batch of requests that the module is planned in.
        sizes: Sizes that the module is made for.
        weights: Values of the module's parameters, set before the next call; if empty, the
            parameters stay as the constructor made them.
        made: The planned construction of the module; None for a function.
        deviations: The module's deviations from the contract that are compensated for.
    """

    def __init__(
        self,
        contract: Contract,
        batch: RequestBatch,
        sizes: Sizes,
        weights: Weights,
        made: PendingModule | None,
        deviations: Deviations = NO_DEVIATIONS,
    ) -> None:
        self.contract = contract
        self.batch = batch
        self.sizes = sizes
        self.weights = self._unset = {name: weights[name] for name in deviations.present(weights)}
        self.made = made
        self.deviations = deviations
        self._mode: bool | None = None if made is None else False  # to set at the next call

    def train(self, mode: bool = True) -> Module:
        """Switch to training or evaluation mode, for the calls to come."""
        self._mode = None if self.made is None else mode
        return self

    def as_made(self) -> Module:
        """Leave the module in the mode that its constructor set, for the calls to come."""
        self._mode = None
        return self

    def to(self, dtype: torch.dtype | None = None, device: str | None = None) -> Module:
        """Plan to move the module to another dtype or device; do nothing for a function."""
        if self.made is not None:
            self.batch.move(self.made, dtype, device)
        return self

    def renew(self) -> Module:
        """Plan to replace the module by a newly constructed one that loads its state."""
        if self.made is not None:
            self.batch.renew(self.made)
        return self

    def set(self, weights: Weights) -> Module:
        """Replace some weights, for the calls to come."""
        there = {name: weights[name] for name in self.deviations.present(weights)}
        self.weights = {**self.weights, **there}
        self._unset = {**self._unset, **there}
        return self

    @property
    def learning(self) -> Weights:
        """The weights whose gradients are requested."""
        frozen = self.contract.frozen
        return {name: value for name, value in self.weights.items() if name not in frozen}

    @property
    def whole_weights(self) -> Weights:
        """All weights of the contract, with zeros for a bias that the module lacks."""
        if not self.deviations.missing or self.contract.parameters is None:
            return self.weights
        shapes = self.contract.parameters(self.sizes)
        like = next(iter(self.weights.values()), torch.zeros(()))
        missing = {name: like.new_zeros(shapes[name]) for name in self.deviations.missing}
        return {**self.weights, **missing}

    def call(self, inputs: Inputs, **how: Any) -> PlannedCall:
        """Plan a single call; ``how`` is as in ``calls``."""
        return self.calls([inputs], **how)[0]

    def calls(
        self,
        each: Sequence[Inputs],
        *,
        method: str = "",
        by_keyword: tuple[str, ...] = (),
        grad_output: Tensor | Mapping[str, Tensor] | None = None,
        seed: int | None = None,
        leaves: bool | Collection[str] = True,
        way: BackwardVariant = "plain",
        before_backward: Callable[[], object] | None = None,
        **how: Unpack[CallOptions],
    ) -> list[PlannedCall]:
        """Plan a call with each of several sets of inputs.

        Args:
            each: Inputs of each call, by name.
            method: Method of the module to call; empty for the one that the contract names.
            by_keyword: Names of the inputs that are passed by keyword.
            grad_output: Gradient of the first compared output, or of outputs by name; given if
                gradients are wanted, and then for a single call.
            seed: Seed of the worker's random numbers, set before the first call.
            leaves: Whether gradients of the inputs are wanted too, not of the parameters alone;
                or the names of those inputs whose gradients are.
            way: Way in which the gradients are requested; see ``messages.BackwardVariant``.
            before_backward: Plans steps between the call and the request for its gradients.
            how: Further fields of the message; see ``messages.Call``.
        """
        if grad_output is not None and leaves:
            learning = self.contract.differentiable if leaves is True else leaves
            each = [_with_leaves(inputs, learning) for inputs in each]
        pending = self.batch.call(
            self.contract.entry if self.made is None else self.made,
            [self._arguments(inputs, by_keyword) for inputs in each],
            method=method or self.contract.method,
            weights=self._sent(self._unset),
            mode=self._mode,
            grad_parameters=None
            if grad_output is None
            else list(map(self.deviations.own_name, self.learning)),
            seed=seed,
            **self._by_own_names(how),
        )
        self._unset, self._mode = {}, None
        made = [PlannedCall(self, pending, place, inputs) for place, inputs in enumerate(each)]
        scores = sum(call.sizes.scores for call in made)
        self.batch.work += Work.of(scores, grad_output is not None)
        if before_backward is not None:
            before_backward()
        if grad_output is not None:
            made[0].plan_gradients(grad_output, way)
        return made

    def _sent(self, weights: Weights) -> Weights:
        """Return weights by the module's own names, with zeros for biases the contract lacks."""
        sent = {self.deviations.own_name(name): value for name, value in weights.items()}
        like = next(iter(weights.values()), None)
        if like is not None:
            sizes = bias_sizes(self.deviations.surplus, self.contract, self.sizes)
            sent |= {name: like.new_zeros(size) for name, size in sizes.items()}
        return sent

    def _by_own_names(self, how: CallOptions) -> CallOptions:
        frozen = how.get("frozen")
        if not frozen:
            return how
        present = self.deviations.present(frozen)
        return {**how, "frozen": list(map(self.deviations.own_name, present))}

    def _arguments(self, inputs: Inputs, by_keyword: tuple[str, ...]) -> CallArguments:
        """Return positional and keyword arguments: by keyword all that follow one left out."""
        args: list[Any] = []
        kwargs = dict(self.contract.arguments(self.sizes)) if self.made is None else {}
        by_name = False
        for name in self.contract.wholes(self.contract.inputs):
            first = self.contract.parts_of(name)[0]
            spec, value = self.contract.inputs[first], self._argument(inputs, name)
            by_name = by_name or value is None or spec.by_keyword or first in by_keyword
            if not by_name:
                args.append(value)
            elif value is not None:
                kwargs[name] = value
        return tuple(args), kwargs

    def _argument(self, inputs: Inputs, name: str) -> Any:
        """Return the value of an argument, a tuple if it has parts; None if it is left out."""
        values = [inputs.get(part) for part in self.contract.parts_of(name)]
        sent = [x.call.output_reference(x.name) if isinstance(x, Handle) else x for x in values]
        if name not in self.contract.tuples:
            return sent[0]
        return None if any(value is None for value in sent) else tuple(sent)

    @property
    def first_weights(self) -> Weights:
        """The contract's parameters as the constructor made them, if their values were requested.

        Raises:
            CheckFailed: A parameter has another shape, or is no float.
        """
        found = {}
        made = {} if self.made is None else self.made.parameters
        shapes = self.contract.parameters(self.sizes) if self.contract.parameters else {}
        for name, shape in shapes.items():
            own = self.deviations.own_name(name)
            value = made[own].value if own in made else None
            if value is None:
                continue
            if tuple(value.shape) != shape or not value.is_floating_point():
                got = f"{tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
                fail(f"expected the parameter `{name}` of shape {shape}, a float; got {got}")
            found[name] = value
        return found

    def expect_fit(self) -> None:
        """Fail the check unless the module has a parameter for each of the weights.

        Raises:
            CheckFailed: A parameter is missing, has another shape, or is shared by two names.
            SubmissionError: The constructor raised an exception.
            SubmissionRefused: The class does not exist, or is no ``nn.Module``.
        """
        if self.made is None:
            return
        there = self.made.parameters
        owners: dict[str, str] = {}
        for contracts, value in self.weights.items():
            name = self.deviations.own_name(contracts)
            if name not in there:
                listing = ", ".join(f"`{own}`" for own in there) or "none"
                fail(f"expected a parameter `{name}`; the module has {listing}")
            shape = there[name].shape
            if shape != value.shape:
                wanted = tuple(value.shape)
                fail(f"expected the parameter `{name}` of shape {wanted}, got {shape}")
            owner = owners.setdefault(there[name].same_as, name)
            if owner != name:
                fail(f"`{name}` is the same parameter as `{owner}`; expected two")


class PlannedCall:
    """A planned call of a module or a function, and its results once it has been sent.

    Whatever reads the results raises what ``PendingStep.answered`` raises, and ``CheckFailed``
    if the weights do not fit the module.

    Attributes:
        module: The module or function that is called.
        contract: Contract of the module.
        inputs: Inputs of the call, by name.
        sizes: Sizes of the module, overridden by those of the inputs.
        weights: Weights of the module at this call.

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

    def __init__(self, module: Module, pending: PendingCalls, place: int, inputs: Inputs) -> None:
        self.module = module
        self.contract = module.contract
        self.inputs = {name: value for name, value in inputs.items() if value is not None}
        self.weights, self._whole_weights = module.weights, module.whole_weights
        self._learning = module.learning
        self.sizes = sizes_of_call(self.contract, module.sizes, self.inputs)
        self._pending = pending
        self._place = place  # index among the calls of its step
        self._grad_outputs: dict[str, Tensor] = {}
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
        self.output_reference(name)
        return Handle(self, name)

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
    def tensors(self) -> dict[str, Tensor]:
        """The inputs that are sent to the worker: all but outputs of earlier calls."""
        return {name: value for name, value in self.inputs.items() if isinstance(value, Tensor)}

    @property
    def result(self) -> Any:
        """What the call returned; an ``Opaque`` stands for what cannot leave the worker."""
        self.module.expect_fit()
        return self._pending.result(self._place)

    @property
    def out(self) -> Tensor:
        """The first compared output, which must be a Tensor of the right shape."""
        return self.outs[self.contract.compared[0]]

    @cached_property
    def outs(self) -> dict[str, Tensor]:
        """All compared outputs by name, each of which must be a Tensor of the right shape."""
        return {
            name: expect_tensor(part, self.sizes.shape(letters), name, self.sizes.named(letters))
            for name, letters, part in self._parts(self.contract.compared)
        }

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
        every = {name: self.contract.outputs[name] or "" for name in self.contract.compared}
        found = {n: letters for n, letters in every.items() if letter in re.split(r"[ +]", letters)}
        return {name: self.sizes.axis(letters, letter) for name, letters in found.items()}

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
        names = [name for name in self.contract.inputs if name in self.tensors]
        return [names[place] for place in self._pending.results.changed if place < len(names)]

    def lies_elsewhere(self, out: Tensor) -> bool:
        """Return whether an output lies on the other device that the call's inputs were put on."""
        results = self._pending.results
        places = zip(results.outputs, results.on_other_device, strict=False)
        return any(there and out is one for one, there in places)

    @property
    def side_effects(self) -> list[str]:
        """What else the call left changed, such as the default dtype, in words.

        Like ``changed``, this needs ``detect_inplace``.
        """
        return self._pending.results.side_effects

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
        """Raise any error of the backward, without looking at the gradients."""
        assert self._back is not None
        _ = self._back.answered

    @property
    def expected(self) -> Tensor:
        """The right first compared output, in float64, on the CPU."""
        return self.right_outputs[self.contract.compared[0]]

    @property
    def right_outputs(self) -> dict[str, Tensor]:
        """The right float outputs by name."""
        return {n: x for n, x in self.all_right_outputs.items() if n not in self.contract.integers}

    @cached_property
    def all_right_outputs(self) -> dict[str, Tensor]:
        """All right outputs by name; cached, as later calls may take some of them as inputs."""
        return self.compute_once("outputs", self.compute_right_outputs)

    @cached_property
    def right_gradients(self) -> dict[str, Tensor]:
        """The right gradients, in float64, on the CPU."""
        return self.compute_once("gradients", self.compute_right_gradients)

    def foresee(self) -> None:
        """Compute the right outputs, and the right gradients if any were planned, ahead of use."""
        _ = self.all_right_outputs
        if self._back is not None:
            _ = self.right_gradients

    @property
    def right_weights(self) -> Weights:
        """The weights in float64, on the CPU, with zeros for a bias that is missing."""
        return right_weights(self._whole_weights)

    @property
    def right_inputs(self) -> dict[str, Tensor]:
        """The inputs in float64, on the CPU; for an output of an earlier call, its right value."""
        return {
            name: value.call.all_right_outputs[value.name]
            if isinstance(value, Handle)
            else exact(value)
            for name, value in self.inputs.items()
        }

    def compute_once(self, what: str, compute: Callable[[], _T]) -> _T:
        """Return the result of ``compute``, cached by ``what`` and all values of this call."""
        inputs = self.right_inputs
        grads = map(exact, self._grad_outputs.values())
        given = (*inputs.values(), *grads, *self.weights.values())
        names = (*inputs, *self._grad_outputs, *self.weights)
        return compute_once((what, self.contract.oracle, self.sizes, names), given, compute)

    def compute_right_outputs(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> dict[str, Tensor]:
        """Compute the right outputs, without a cache, with errors of rounding.

        The errors come from a coarser dtype, or from noise: a random error in each operation.
        """
        with noise or nullcontext():
            return self._right(*self._sources(dtype, noise))

    def compute_right_gradients(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> dict[str, Tensor]:
        """Compute the right gradients with errors of rounding; see ``compute_right_outputs``."""
        with noise or nullcontext():
            return self._right_gradients(dtype, noise)

    def _right_gradients(self, dtype: torch.dtype, noise: Noise | None) -> dict[str, Tensor]:
        inputs, weights = self._sources(dtype, noise)
        names = [name for name in self.contract.differentiable if name in self.tensors]
        sources = {name: inputs[name].requires_grad_() for name in names}
        sources |= {name: weights[name].requires_grad_() for name in self._learning}
        rights = self._right(inputs, weights)
        given = {name: grad.to("cpu", dtype) for name, grad in self._grad_outputs.items()}
        terms = [(rights[name] * grad).sum() for name, grad in given.items()]
        found = torch.autograd.grad(torch.stack(terms).sum(), list(sources.values()))
        return dict(zip(sources, found, strict=True))

    def _sources(
        self, dtype: torch.dtype, noise: Noise | None
    ) -> tuple[dict[str, Tensor], Weights]:
        inputs, weights = self.right_inputs, right_weights(self._whole_weights, dtype)
        floats = [name for name in self.contract.differentiable if name in inputs]
        inputs |= {name: inputs[name].to(dtype) for name in floats}
        if noise:
            inputs |= {name: noise.perturbed(inputs[name]) for name in floats}
            weights = {name: noise.perturbed(weight) for name, weight in weights.items()}
        return inputs, weights

    def _right(self, inputs: dict[str, Tensor], weights: Weights) -> dict[str, Tensor]:
        return self.contract.right(weights, self.sizes, inputs)


def _with_leaves(inputs: Inputs, names: Collection[str]) -> Inputs:
    """Return the inputs, of which those with these names require a gradient."""
    return {
        name: value.detach().requires_grad_()
        if isinstance(value, Tensor) and name in names
        else value
        for name, value in inputs.items()
    }


def sizes_of_call(contract: Contract, sizes: Sizes, inputs: Inputs) -> Sizes:
    """Return a module's sizes, updated by those of a call's inputs and what follows from them."""
    found: dict[str, int] = {}
    for name, spec in contract.inputs.items():
        value = inputs.get(name)
        if spec.length:
            found[spec.length] = _length(spec, sizes, value)
        if spec.optional or not isinstance(value, Tensor):
            continue
        words = spec.shape.split()
        if words[:1] == ["B"] and value.dim() == len(words) - 1:
            found.setdefault("B", 0)
            words = words[1:]
        for word, size in zip(words, value.shape, strict=False):
            found.setdefault(word, size)
    found = {word: size for word, size in found.items() if word.isalpha()}
    return contract.derived(sizes.replace(**found))


def _length(spec: Input, sizes: Sizes, value: Tensor | Handle | None) -> int:
    """Return an input's size along the axis named ``spec.length``; 0 if the input is left out."""
    if value is None:
        return 0
    axis = sizes.axis(spec.shape, spec.length)
    if isinstance(value, Tensor):
        return value.size(axis)
    letters = value.call.contract.outputs[value.name] or ""
    return value.call.sizes.shape(letters)[axis]
