"""Plans the steps that a submission carries out, and sends them in one request.

An exchange with a worker takes longer than the small computation that it asks for. So modules and
calls are planned first, which only queues them; then ``send`` asks for all of them in order, and
then their results can be read. A call may take the output of an earlier one as input; that output
never leaves the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, TypeVar, Unpack

import torch
from torch import Tensor

from grader.sandbox.channel import Channel, OutgoingStep
from grader.sandbox.pace import Work
from grader.sandbox.pending import PendingCalls, PendingGradients, PendingModule, PendingStep
from grader.sandbox.replies import StepAnswer
from grader.wire import values
from grader.wire.messages import (
    Arguments,
    Backward,
    BackwardVariant,
    Call,
    CopyCriteria,
    Create,
    Move,
    Renew,
)

_P = TypeVar("_P", bound=PendingStep)
CallArguments = tuple[tuple[Any, ...], Mapping[str, Any]]  # positional, and by keyword


class CallOptions(TypedDict, total=False):
    """Options of calls; each is a field of the message ``Call``."""

    functional_weights: bool
    frozen: list[str]
    inference: bool
    nonleaf_inputs: bool
    detect_inplace: bool
    overwrites: bool
    refill_inputs: bool
    use_other_device: bool
    copies: CopyCriteria | None
    report_storage: bool
    report_counts: bool
    stops_at_nan: bool


class RequestBatch:
    """The steps that are planned for one worker: queued, to be sent in one request.

    Args:
        channel: The channel to the worker.
        allow: Called before a request is sent, with the work, how much the request has to compute.

    Attributes:
        device: The device on which the worker puts what it is sent.
        work: How much the planned steps have to compute, as counted by the code that plans them.
    """

    def __init__(self, channel: Channel, allow: Callable[[Work], object] | None = None) -> None:
        self.channel = channel
        self.work = Work()
        self._allow = allow
        self.device = channel.device
        self._waiting: list[tuple[PendingStep, object]] = []
        self._groups: list[int] = []  # sizes of groups; a failed step ends its group alone

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Group the steps planned in this context: if one fails, all other groups still run."""
        before = len(self._waiting)
        yield
        if alone := before - sum(self._groups):
            self._groups.append(alone)
        self._groups.append(len(self._waiting) - before)

    def pack(self) -> None:
        """Pack the tensors of all planned steps now, not only as they are sent."""
        for pending, _ in self._waiting:
            _ = pending.outgoing.packed

    def send(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Send all planned steps. After a step that failed, the rest of its group is not tried.

        Args:
            meanwhile: Called while the worker is busy.

        Raises:
            WorkerEnded: The worker crashed, exited, took too long, or answered nonsense.
        """
        waiting, self._waiting = self._waiting, []
        groups, self._groups = self._groups, []
        work, self.work = self.work, Work()
        if self._allow is not None:
            self._allow(work)
        if not waiting:
            return
        if groups and len(waiting) > sum(groups):
            groups.append(len(waiting) - sum(groups))
        answers: list[StepAnswer | BaseException] = []
        try:
            answers += self.channel.exchange([p.outgoing for p, _ in waiting], groups, meanwhile)
        except BaseException as error:
            answers.append(error)
            raise
        finally:
            answers += answers[-1:] * (len(waiting) - len(answers))
            for (pending, _), answer in zip(waiting, answers, strict=True):
                pending.answer_or_error = answer

    def create(
        self,
        name: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        with_values: bool = False,
        seed: int | None = None,
    ) -> PendingModule:
        """Queue the construction of a module.

        Args:
            name: Name of its class.
            args: Positional arguments of the constructor.
            kwargs: Keyword arguments of the constructor.
            with_values: Whether the worker is to send the values of the module's parameters.
            seed: Seed of the worker's random numbers, set before the construction.
        """
        tensors: list[Tensor] = []
        trees = values.encode(tuple(args), tensors), values.encode(dict(kwargs or {}), tensors)
        handle = self.channel.new_handle()
        outgoing = OutgoingStep(Create(handle, name, *trees, with_values), tensors, seed)
        return self._planned(PendingModule(self.channel, outgoing, handle))

    def move(
        self, module: PendingModule, dtype: torch.dtype | None = None, device: str | None = None
    ) -> None:
        """Queue a move of a module to a dtype and a device; None leaves either as it is."""
        name = None if dtype is None else str(dtype).removeprefix("torch.")
        move = Move(module.handle, name, device)
        self._planned(PendingStep(self.channel, OutgoingStep(move)), module)

    def renew(self, module: PendingModule) -> None:
        """Queue the replacement of a module by a newly constructed one that loads its state."""
        self._planned(PendingStep(self.channel, OutgoingStep(Renew(module.handle))), module)

    def call(
        self,
        target: PendingModule | str,
        calls: Sequence[CallArguments],
        *,
        method: str = "",
        weights: Mapping[str, Tensor] | None = None,
        mode: bool | None = None,
        grad_parameters: Sequence[str] | None = None,
        seed: int | None = None,
        **how: Unpack[CallOptions],
    ) -> PendingCalls:
        """Queue calls of a module or a function, one for each pair of arguments and keywords.

        Args:
            target: A module, or a function's name.
            calls: Arguments and keywords of each call; outputs of earlier calls may be among them.
            method: Name of the module's method; empty for the module itself.
            weights: New values of the module's parameters, set before the first call.
            mode: Whether the module is in training mode; None leaves its mode as it is.
            grad_parameters: Names of the parameters whose gradients may be asked for, beside those
                of the inputs that require one; None for no gradients.
            seed: Seed of the worker's random numbers, set before the first call.
            how: Further fields of the message ``Call``.
        """
        inputs: list[Tensor] = []
        trees = [
            Arguments(values.encode(args, inputs), values.encode(dict(kwargs), inputs))
            for args, kwargs in calls
        ]
        weights = weights or {}
        gradients = grad_parameters is not None
        operation = Call(
            target=target if isinstance(target, str) else target.handle,
            calls=trees,
            method=method,
            weights={name: len(inputs) + i for i, name in enumerate(weights)},
            mode=mode,
            results_handle=self.channel.new_handle() if gradients else None,
            gradients=gradients,
            grad_parameters=list(grad_parameters or ()),
            **how,
        )
        outgoing = OutgoingStep(operation, [*inputs, *weights.values()], seed)
        return self._planned(
            PendingCalls(self.channel, outgoing, operation, inputs), (target, calls)
        )

    def backward(
        self,
        calls: PendingCalls,
        grad_outputs: Mapping[tuple[int | str, ...], Tensor],
        parameters: Sequence[Tensor] = (),
        way: BackwardVariant = "plain",
    ) -> PendingGradients:
        """Queue a backward pass through earlier calls.

        Args:
            calls: The calls, which were queued with gradients.
            grad_outputs: Gradients of the calls' outputs, by path.
            parameters: The parameters that the calls name, for their shapes and devices.
            way: How the gradients are asked for.
        """
        assert calls.call.results_handle is not None
        sources = [*(x for x in calls.inputs if x.requires_grad), *parameters]
        operation = Backward(calls.call.results_handle, [list(path) for path in grad_outputs], way)
        outgoing = OutgoingStep(operation, list(grad_outputs.values()))
        forms = [(source.shape, source.device) for source in sources]
        return self._planned(PendingGradients(self.channel, outgoing, forms, calls), calls)

    def _planned(self, pending: _P, needs: object = None) -> _P:
        """Queue a step, and keep the objects in ``needs`` alive until it is sent."""
        self._waiting.append((pending, needs))
        return pending
