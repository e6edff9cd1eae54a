"""Makes the calls of one step, and tells what was seen of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

# Imported before a submission is loaded, which may replace these names in torch.
from torch import Tensor, inference_mode, no_grad, set_grad_enabled
from torch.nn import Module

from grader.wire import messages, packing, responses, values
from grader.wire.originals import (
    attributes_of,
    is_in_memory,
    is_on_meta,
    no_overrides,
    requires_grad_of,
    restore_hooks,
    storage_address,
    storage_nbytes,
)
from grader.worker.copies import CopyCounter
from grader.worker.counts import AllocationCounter
from grader.worker.devices import SimulatedDevice
from grader.worker.graphs import Graph, saved_parameter_hooks
from grader.worker.nans import StopsAtNaN
from grader.worker.seeing import OperationWatcher
from grader.worker.traces import SideEffects


class WatchedCalls:
    """The calls of one step, and what is watched while they are made.

    Args:
        call: What is asked for.
        module: The module that is called, or a method of it; None for a function.
        function: The module, method or function to call.
        parameters: The module's parameters, by name.
        inputs: The tensors that were sent for all of the calls.
        other: What plays the other device of the calls; None if they are on the worker's own.

    Attributes:
        graph: The autograd graph that leads back from the results.
    """

    def __init__(
        self,
        call: messages.Call,
        module: Module | None,
        function: Callable[..., Any],
        parameters: dict[str, Tensor],
        inputs: list[Tensor],
        other: SimulatedDevice | None,
    ) -> None:
        self._call, self._function, self._other = call, function, other
        self._given = _prepared_inputs(call, inputs, other)
        self._existing = [*self._given, *parameters.values()]
        learned = [parameters[name] for name in call.grad_parameters]
        leaves = self._given if call.use_other_device else inputs
        watched = self._given if call.detect_inplace else ()
        self.graph = Graph([*(x for x in leaves if x.requires_grad), *learned], other, watched)
        self._side_effects = (
            SideEffects(module, parameters, self._given, call.gradients or call.report_counts)
            if call.detect_inplace
            else None
        )
        self.graph.side_effects = self._side_effects
        self._copies = None if call.copies is None else CopyCounter(call.copies)
        self._counts = AllocationCounter() if call.report_counts else None
        self._contexts: list[AbstractContextManager[Any]] = [
            other or (saved_parameter_hooks(parameters) if call.gradients else nullcontext()),
            self._copies or nullcontext(),
            self._counts or nullcontext(),
            StopsAtNaN() if call.stops_at_nan else nullcontext(),
        ]

    def make(
        self, decode: Callable[[Any, list[Tensor]], Any], sent: list[Tensor]
    ) -> tuple[list[Any], list[Any]]:
        """Make each call; return the results as they are, and as they are encoded.

        Args:
            decode: Makes a value of a tree and the inputs.
            sent: Filled with the tensors of the encoded results.
        """
        call, inputs = self._call, self._given
        results: list[Any] = []
        trees: list[Any] = []
        each = len(inputs) // len(call.calls)  # inputs of a call, if all have equally many
        for place, one in enumerate(call.calls):
            if call.refill_inputs and place:
                with inference_mode(call.inference):
                    _refill(inputs[:each], inputs[place * each :])
                one = call.calls[0]
            args, kwargs = (decode(tree, inputs) for tree in (one.args, one.kwargs))
            results.append(self._make_one(args, kwargs))
            for mode in self._contexts:
                if isinstance(mode, OperationWatcher):
                    mode.expect_to_have_seen(results[-1], self._existing)
            if call.overwrites and place + 1 < len(call.calls):
                continue
            before = len(sent)
            for result in results[len(trees) :]:
                trees.append(values.encode(result, sent))
            if len(call.calls) > 1 and self._other is None and not call.overwrites:
                sent[before:] = [x.detach().clone() for x in sent[before:]]
        return results, trees

    def _make_one(self, args: Any, kwargs: Any) -> Any:
        around, copies, counts, nans = self._contexts
        with (  # no `ExitStack`, whose methods could be others by now
            inference_mode(self._call.inference),
            set_grad_enabled(self._call.gradients or self._call.report_counts),
            around,
            copies,
            counts,
            nans,
        ):
            result = self._function(*args, **kwargs)
            restore_hooks()
            if self._side_effects is not None:
                self._side_effects.record_settings()
        return result

    def describe(
        self, results: list[Any], trees: list[Any], sent: list[Tensor]
    ) -> responses.Called:
        """Return the answer, but for side effects; results on another device become its twins."""
        call, other = self._call, self._other
        called = responses.Called(
            results=trees,
            grads=[requires_grad_of(x) for x in sent],
            changed=[],
            on_other_device=[is_on_meta(x) for x in sent] if call.use_other_device else [],
        )
        if call.use_other_device and other is not None:
            twins = [other.twin_of(x) if is_on_meta(x) else x for x in sent]
            if not other.invented:  # no operation made an output, whose values nobody knows then
                sent[:] = twins
        if self._copies is not None:
            called.copied = self._copies.most
        if self._counts is not None:
            called.made, called.saved = self._counts.made, self._counts.saved
        if call.report_storage:
            called.storage_nbytes = _storage_nbytes(results)
        return called

    def describe_side_effects(self, called: responses.Called, sent: list[Tensor]) -> None:
        """Add to the answer what the calls left changed, if that was asked for.

        A result may be a tensor of the submission's own class, whose code runs as its values are
        read. They are read first, so that what that code changes is seen.
        """
        if self._side_effects is None:
            return
        sent[:] = [packing.plain(x) if is_in_memory(x) else x for x in sent]
        called.changed = self._side_effects.changed_inputs()
        called.side_effects = self._side_effects.describe()
        called.inputs = [packing.digest(x) for x in self._given]


def _prepared_inputs(
    call: messages.Call, inputs: list[Tensor], other: SimulatedDevice | None
) -> list[Tensor]:
    """Return the tensors that a call is given: its inputs, or what its settings make of them.

    In inference mode these are clones, with ``nonleaf_inputs`` views; on another device, those on
    ``meta`` that stand for the inputs.
    """
    with inference_mode(call.inference), set_grad_enabled(not call.inference):
        if call.inference:
            return [x.clone() for x in inputs]
        if call.nonleaf_inputs:
            return [x.view_as(x) for x in inputs]
    if not call.use_other_device or other is None:
        return inputs
    return [other.make_stand_in(x.detach()).requires_grad_(x.requires_grad) for x in inputs]


def _refill(own: list[Tensor], given: list[Tensor]) -> None:
    with no_grad():
        for tensor, value in zip(own, given, strict=False):
            tensor.copy_(value)


def _storage_nbytes(results: list[Any]) -> list[int]:
    """Return the bytes of memory behind each tensor of results, each storage counted once."""
    tensors: list[Tensor] = []
    values.encode(results, tensors)
    found: list[int] = []
    known: set[int] = set()
    for tensor in tensors:
        held = [tensor]
        values.encode(list(dict.values(attributes_of(tensor))), held)  # what it keeps alive
        with no_overrides():
            there = {storage_address(one): storage_nbytes(one) for one in held if is_in_memory(one)}
        found.append(sum(size for start, size in there.items() if start not in known))
        known |= there.keys()
    return found
