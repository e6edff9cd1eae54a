"""Planned modules of a submission, and functions: what plans their calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Unpack

from torch import Tensor

from grader.sandbox.batch import CallArguments, CallOptions
from grader.sandbox.pace import Work
from grader.suite.calls import PlannedCall
from grader.suite.module_state import ModuleState
from grader.suite.oracle import Weights
from grader.suite.right_results import Handle, Inputs
from grader.wire.messages import BackwardVariant

WATCHED = ("copies", "report_counts", "use_other_device")  # options that look at each operation
WATCHED_COST = 6  # times as long as otherwise


class Module(ModuleState):
    """A planned module of the submission, or its function, for planning steps with it.

    Planned steps wait in the batch until it is sent; they are carried out in order.
    """

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
        cost = WATCHED_COST if any(how.get(name) for name in WATCHED) else 1
        self.batch.work += Work.of(cost * scores, grad_output is not None)
        if before_backward is not None:
            before_backward()
        if grad_output is not None:
            made[0].plan_gradients(grad_output, way)
        return made

    def _sent(self, weights: Weights) -> Weights:
        """Return weights by the module's own names, with zeros for biases the contract lacks."""
        sent = {self.deviations.own_name(name): value for name, value in weights.items()}
        like = next(iter(weights.values()), None)
        if like is not None and self.deviations.surplus and self.contract.parameters is not None:
            sizes = self.deviations.surplus_sizes(self.contract.parameters(self.sizes))
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
        sent = [x.reference if isinstance(x, Handle) else x for x in values]
        if name not in self.contract.tuples:
            return sent[0]
        return None if any(value is None for value in sent) else tuple(sent)


def _with_leaves(inputs: Inputs, names: Collection[str]) -> Inputs:
    """Return the inputs, of which those with these names require a gradient."""
    return {
        name: value.detach().requires_grad_()
        if isinstance(value, Tensor) and name in names
        else value
        for name, value in inputs.items()
    }
