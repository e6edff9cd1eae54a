"""Planned steps, whose results can be read once the batch that they wait in has been sent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.sandbox.channel import Channel, OutgoingStep
from grader.sandbox.replies import (
    CallResults,
    Parameter,
    StepAnswer,
    read_changes,
    read_gradients,
    read_parameters,
    read_results,
)
from grader.wire import values
from grader.wire.messages import Call
from grader.wire.responses import Gradients


class NotYetSent(Exception):
    """A result is read before its step was sent: a bug in the code that queued the step."""


class PendingStep:
    """A step that is queued to be sent to the worker and, once it was sent, its answer.

    Attributes:
        channel: The channel to the worker.
        outgoing: The step.
        answer_or_error: Its answer, or why there is none; None until it was sent.
    """

    def __init__(self, channel: Channel, outgoing: OutgoingStep) -> None:
        self.channel = channel
        self.outgoing = outgoing
        self.answer_or_error: StepAnswer | BaseException | None = None

    @property
    def answered(self) -> StepAnswer:
        """The answer to the step.

        Raises:
            NotYetSent: The step has not been sent.
            SubmissionError: The submission raised an exception, in this step or in an earlier one.
            SubmissionRefused: The submission cannot serve the step, say for lack of a method.
            WorkerEnded: The worker crashed, exited or took too long.
        """
        if isinstance(self.answer_or_error, BaseException):
            raise self.answer_or_error.with_traceback(None)  # each raise would lengthen it
        if self.answer_or_error is None:
            raise NotYetSent("a result is looked at before `ask` or `send` was called")
        return self.answer_or_error


class PendingModule(PendingStep):
    """The construction of a module in the worker, queued and, once it was sent, answered."""

    def __init__(self, channel: Channel, outgoing: OutgoingStep, handle: int) -> None:
        super().__init__(channel, outgoing)
        self.handle = handle
        channel.release_after(self, handle)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The module's parameters, by name."""
        answered = self.answered
        return self.channel.validated(lambda: read_parameters(answered))


class PendingGradients(PendingStep):
    """A backward pass through earlier calls, queued and, once it was sent, answered."""

    def __init__(
        self,
        channel: Channel,
        outgoing: OutgoingStep,
        forms: list[tuple[torch.Size, torch.device]],
        calls: PendingCalls,
    ) -> None:
        super().__init__(channel, outgoing)
        self._forms = forms
        self._calls = calls

    @cached_property
    def changed(self) -> list[int]:
        """The indices of the calls' inputs that it changed, if they have ``detect_inplace``."""
        before, after = self._calls.answered, self.answered
        return self.channel.validated(lambda: read_changes(before, after))

    @property
    def side_effects(self) -> list[str]:
        """What else it left changed, in words, if the calls have ``detect_inplace``."""
        answer = self.answered.answer
        return answer.side_effects if isinstance(answer, Gradients) else []

    @cached_property
    def gradients(self) -> list[Tensor | None]:
        """The gradients of the inputs that require one, then those of the parameters."""
        answered = self.answered
        return self.channel.validated(lambda: read_gradients(answered, self._forms))


class PendingCalls(PendingStep):
    """Calls of one module or function, queued and, once they were sent, answered."""

    def __init__(
        self, channel: Channel, outgoing: OutgoingStep, call: Call, inputs: Sequence[Tensor]
    ) -> None:
        super().__init__(channel, outgoing)
        self.call = call
        self.inputs = inputs
        if call.results_handle is not None:
            channel.release_after(self, call.results_handle)

    @cached_property
    def results(self) -> CallResults:
        """The results of all calls."""
        answered = self.answered
        return self.channel.validated(lambda: read_results(answered, self.call, self.inputs))

    def result(self, place: int = 0) -> Any:
        """Return the result of one call, by its index.

        In the result, an ``Opaque`` stands for each object that cannot leave the worker.
        """
        return values.decode(self.results.trees[place], self.results.outputs)

    def output(self, *path: int | str) -> values.OutputRef:
        """Return a reference to a call's output, or a part of it, as input for a later call.

        The output itself stays in the worker.

        Args:
            path: The index of the call, then indices and keys into its output.
        """
        if self.call.results_handle is None:
            assert self.answer_or_error is None, "these calls were asked for, and are not kept"
            self.call.results_handle = self.channel.new_handle()
            self.channel.release_after(self, self.call.results_handle)
        return values.OutputRef(self.call.results_handle, path, owner=self)
