"""What is wanted of a submission, planned step by step and asked in one request.

An exchange with a worker takes longer than the small computation that it asks for. So modules and
calls are planned, ``send`` asks for all of them in their order, and then what came can be read. A
call may take what an earlier one gave: that never leaves the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypedDict, TypeVar, Unpack

import torch
from torch import Tensor

from grader.sandbox.channel import Channel, Outgoing
from grader.sandbox.pace import Work
from grader.sandbox.replies import (
    Answered,
    Parameter,
    Results,
    read_gradients,
    read_parameters,
    read_results,
)
from grader.wire import values
from grader.wire.messages import Arguments, Backward, Call, Copies, Create, Move, Renew, Way

_P = TypeVar("_P", bound="PendingRequest")
CallArguments = tuple[tuple[Any, ...], Mapping[str, Any]]  # positional, and by name


class How(TypedDict, total=False):
    """How calls are made; as in the message."""

    lent: bool
    frozen: list[str]
    inference: bool
    through: bool
    detect_inplace: bool
    overwrites: bool
    refills: bool
    elsewhere: bool
    copies: Copies | None
    weighs: bool
    counted: bool
    stops_at_nan: bool


class NotAsked(Exception):
    """A result is looked at before it was asked for: a fault of whoever planned it."""


class PendingRequest:
    """A planned step, and later what came of it.

    Attributes:
        channel: To the worker.
    """

    def __init__(self, channel: Channel, outgoing: Outgoing) -> None:
        self.channel = channel
        self.outgoing = outgoing
        self.came: Answered | BaseException | None = None

    @property
    def answered(self) -> Answered:
        """What came.

        Raises:
            NotAsked: It has not been sent.
            SubmissionError: The submission raised an exception, in this step or in an earlier one.
            SubmissionRefused: It is not of the shape that the step needs.
            WorkerEnded: It crashed, exited or took too long.
        """
        if isinstance(self.came, BaseException):
            raise self.came.with_traceback(None)  # each raise adds to it
        if self.came is None:
            raise NotAsked("a result is looked at before `ask` or `send` was called")
        return self.came


class PendingModule(PendingRequest):
    """A module that is made."""

    def __init__(self, channel: Channel, outgoing: Outgoing, handle: int) -> None:
        super().__init__(channel, outgoing)
        self.handle = handle
        channel.release_after(self, handle)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Its parameters, by name."""
        answered = self.answered
        return self.channel.validated(lambda: read_parameters(answered))


class PendingGradients(PendingRequest):
    """Gradients behind calls."""

    def __init__(
        self, channel: Channel, outgoing: Outgoing, forms: list[tuple[torch.Size, torch.device]]
    ) -> None:
        super().__init__(channel, outgoing)
        self._forms = forms

    @cached_property
    def found(self) -> list[Tensor | None]:
        """Those of the inputs that require one, then those of the parameters."""
        answered = self.answered
        return self.channel.validated(lambda: read_gradients(answered, self._forms))


class PendingCalls(PendingRequest):
    """Calls of one module or function."""

    def __init__(
        self, channel: Channel, outgoing: Outgoing, call: Call, inputs: Sequence[Tensor]
    ) -> None:
        super().__init__(channel, outgoing)
        self.call = call
        self.inputs = inputs
        if call.keep is not None:
            channel.release_after(self, call.keep)

    @cached_property
    def results(self) -> Results:
        """What all of them gave."""
        answered = self.answered
        return self.channel.validated(lambda: read_results(answered, self.call, self.inputs))

    def result(self, place: int = 0) -> Any:
        """What one of them gave; an ``Opaque`` stands for what cannot cross."""
        return values.decode(self.results.trees[place], self.results.outputs)

    def output(self, *path: int | str) -> values.Output:
        """What one of them gives, or a part of it, for a later call; it stays in the worker.

        Args:
            path: The place of the call, then indices and keys.
        """
        if self.call.keep is None:
            assert self.came is None, "these calls were asked for, and are not kept"
            self.call.keep = self.channel.new_handle()
            self.channel.release_after(self, self.call.keep)
        return values.Output(self.call.keep, path, owner=self)


class RequestBatch:
    """The steps that are planned for one worker.

    Args:
        channel: To the worker.
        allow: Is told how much a request has to compute, before it is sent.

    Attributes:
        device: Where the worker has what it is sent.
        work: How much what is planned has to compute, as whoever plans it counts it.
    """

    def __init__(self, channel: Channel, allow: Callable[[Work], object] | None = None) -> None:
        self.channel = channel
        self.work = Work()
        self._allow = allow
        self.device = channel.device
        self._waiting: list[tuple[PendingRequest, object]] = []
        self._groups: list[int] = []  # how many steps each takes that fails by itself

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is planned meanwhile fails by itself: all else is tried all the same."""
        before = len(self._waiting)
        yield
        if alone := before - sum(self._groups):
            self._groups.append(alone)
        self._groups.append(len(self._waiting) - before)

    def send(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Ask for all that is planned. After a step that failed, the others are not tried.

        Args:
            meanwhile: Is called while the worker is busy.

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
        answers: list[Answered | BaseException] = []
        try:
            answers += self.channel.exchange([p.outgoing for p, _ in waiting], groups, meanwhile)
        except BaseException as error:
            answers.append(error)
            raise
        finally:
            answers += answers[-1:] * (len(waiting) - len(answers))
            for (pending, _), answer in zip(waiting, answers, strict=True):
                pending.came = answer

    def create(
        self,
        name: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        with_values: bool = False,
        seed: int | None = None,
    ) -> PendingModule:
        """Plan a module.

        Args:
            name: Its class.
            args: Of the constructor.
            kwargs: Of the constructor.
            with_values: Whether the values of its parameters are wanted.
            seed: Of the worker's random numbers, set before.
        """
        tensors: list[Tensor] = []
        trees = values.encode(tuple(args), tensors), values.encode(dict(kwargs or {}), tensors)
        handle = self.channel.new_handle()
        outgoing = Outgoing(Create(handle, name, *trees, with_values), tensors, seed)
        return self._planned(PendingModule(self.channel, outgoing, handle))

    def move(
        self, module: PendingModule, dtype: torch.dtype | None = None, device: str | None = None
    ) -> None:
        """Plan to move a module to a dtype and a device."""
        name = None if dtype is None else str(dtype).removeprefix("torch.")
        move = Move(module.handle, name, device)
        self._planned(PendingRequest(self.channel, Outgoing(move)), module)

    def renew(self, module: PendingModule) -> None:
        """Plan to go on with a module that is made anew and given the state of this one."""
        self._planned(PendingRequest(self.channel, Outgoing(Renew(module.handle))), module)

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
        **how: Unpack[How],
    ) -> PendingCalls:
        """Plan calls of a module or a function, one for each pair of arguments and keywords.

        Args:
            target: A module, or a function's name.
            calls: What it is called with; a part of what earlier calls gave may be among it.
            method: Of the module; empty for the module itself.
            weights: New values of its parameters, set before the first call.
            mode: Whether it is in training; None where the worker knows.
            grad_parameters: Names of the parameters that gradients may be asked of, beside the
                inputs that require one; None for no gradients.
            seed: Of the worker's random numbers, set before the first call.
            how: What a message of a call has beside.
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
            keep=self.channel.new_handle() if gradients else None,
            gradients=gradients,
            grad_parameters=list(grad_parameters or ()),
            **how,
        )
        outgoing = Outgoing(operation, [*inputs, *weights.values()], seed)
        return self._planned(
            PendingCalls(self.channel, outgoing, operation, inputs), (target, calls)
        )

    def backward(
        self,
        calls: PendingCalls,
        grad_outputs: Mapping[tuple[int | str, ...], Tensor],
        parameters: Sequence[Tensor] = (),
        way: Way = "plain",
    ) -> PendingGradients:
        """Plan gradients behind calls.

        Args:
            calls: That gradients may be asked of.
            grad_outputs: Those of their outputs, by path.
            parameters: That the calls name, for shape and device.
            way: How they are asked for.
        """
        assert calls.call.keep is not None
        sources = [*(x for x in calls.inputs if x.requires_grad), *parameters]
        operation = Backward(calls.call.keep, [list(path) for path in grad_outputs], way)
        outgoing = Outgoing(operation, list(grad_outputs.values()))
        forms = [(source.shape, source.device) for source in sources]
        return self._planned(PendingGradients(self.channel, outgoing, forms), calls)

    def _planned(self, pending: _P, needs: object = None) -> _P:
        """Take up a step; what it needs is held until it is sent."""
        self._waiting.append((pending, needs))
        return pending
