"""One check's try at a contract: modules with drawn weights, inputs, right values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor

from grader.sandbox.batch import RequestBatch
from grader.sandbox.face import Face
from grader.sandbox.pace import SHORT, Work
from grader.sandbox.session import Session
from grader.sandbox.workers import NotTried, WorkerEnded
from grader.suite.calls import Module
from grader.suite.contract import Contract, Sizes
from grader.suite.draw import Draw
from grader.suite.fitting import AS_IT_SHOULD_BE, Fit, fit_of
from grader.suite.oracle import Weights, exact, right_weights

_T = TypeVar("_T")

# Queries and keys drawn with this gain give scores of about ±1.4 after scaling: weights that
# are neither uniform nor one-hot, so that a wrong scale shows.
GAIN = 1.2
NEAR = 3e-5  # to a kink; float32 is off by 3e-6 there
MISFIT = "misfit"  # in the memo, once it was told of
PART = 0.1  # of the time that is left, that one part of a check may take
COPIES = 4  # of what is kept for a backward, where calls are made on another device as well
DRAWS = 1000  # of inputs, of which about every sixth lies near a kink


class Harness:
    """One check's try at a contract: plans modules and calls, draws inputs, asks.

    Args:
        contract: What is tried.
        session: Of whom.
        draw: The check's random numbers.
        memo: What earlier checks of the same grading have observed.
        claims: The names of the functions that are the suite's checks.
        seed: Of the whole grading.
    """

    def __init__(
        self,
        contract: Contract,
        session: Session,
        draw: Draw,
        memo: dict[Any, Any],
        claims: frozenset[str] = frozenset(),
        seed: int = 0,
    ) -> None:
        self.contract = contract
        self.session = session
        self.draw = draw
        self.claims = claims
        self.seed = seed
        self._memo = memo
        self._batch: RequestBatch | None = None

    @property
    def batch(self) -> RequestBatch:
        """What is planned and not yet asked."""
        if self._batch is None or self._batch.channel is not self.session.channel:
            self._batch = self.session.batch()
        return self._batch

    @property
    def sizes(self) -> Sizes:
        """The first sizes of the contract."""
        return self.contract.sizes[0]

    def of(self, contract: Contract, claims: frozenset[str] | None = None) -> Harness:
        """The same try at another contract, in the same request.

        Args:
            contract: What is tried.
            claims: Names of the functions that are checks of it; None where the suite's are.
        """
        claims = self.claims if claims is None else claims
        other = Harness(
            *(contract, self.session, self.draw),
            *(self._memo, claims, self.seed),
        )
        other._batch = self.batch
        return other

    def drawing(self, draw: Draw) -> Harness:
        """The same try with other random numbers."""
        other = self.of(self.contract)
        other.draw = draw
        return other

    def ask(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Have all that is planned carried out, in one request; then what came can be read.

        Args:
            meanwhile: Is called while the worker is busy.

        Raises:
            WorkerEnded: The worker crashed, exited, took too long, or answered nonsense.
        """
        self.batch.send(meanwhile)

    def within_reach(self, sizes: Sizes, calls: int = 1, learns: bool = False) -> Sizes:
        """Sizes at which there is time for so many calls: with half the positions, if need be.

        Args:
            sizes: That are wanted.
            calls: How many.
            learns: Whether gradients are wanted.
        """
        while sizes.length > 2 * SHORT and (
            self._seconds_for(sizes, calls, learns) > PART * self.session.left
            or self.session.pace.is_too_much(COPIES * sizes.scores)
        ):
            sizes = sizes.replace(**{n: (sizes[n] + 1) // 2 for n in "TS" if n in sizes})
        return sizes

    def shared(self, observe: Callable[[Harness], _T]) -> _T:
        """What ``observe`` saw of this contract: made once for all the checks that judge by it.

        It must give data, no module: a worker may end between two checks. What ends the worker is
        not tried again; no other exception is kept, so the next check tries anew.
        """
        key = (self.contract, observe)
        if key not in self._memo:
            before = len(self.session.exchanges)
            try:
                self._memo[key] = observe(self)
            except NotTried:
                raise
            except WorkerEnded as error:
                self._memo[key] = error
            for exchange in self.session.exchanges[before:]:
                exchange.fine = exchange.fine or []  # others judge by it than the check that asks
        found: _T | WorkerEnded = self._memo[key]
        if isinstance(found, WorkerEnded):
            raise found.with_traceback(None)
        return found

    def expect_time_for(self, sizes: Sizes) -> None:
        """Skip the check where a call at these sizes would take longer than there is time."""
        seconds = self._seconds_for(sizes)
        if seconds > self.session.left:
            pytest.skip(f"at {sizes} a call would take {seconds:.0f} s")

    def _seconds_for(self, sizes: Sizes, calls: int = 1, learns: bool = False) -> float:
        return self.session.pace.seconds_for(Work.of(calls * sizes.scores, learns))

    def module(
        self,
        sizes: Sizes | None = None,
        weights: Weights | None = None,
        with_values: bool = False,
        seed: int | None = None,
        by_position: bool = False,
        **changes: Any,
    ) -> Module:
        """Plan a module, in evaluation, or the function.

        Args:
            sizes: The contract's first where None.
            weights: Drawn where None; where empty it stays as its constructor makes it.
            with_values: Whether the values that its constructor gives its parameters are wanted.
            seed: Of the worker's random numbers, set before.
            by_position: Whether arguments are given in their order, without their names.
            changes: Arguments of its constructor; None leaves one out.
        """
        sizes = sizes or self.sizes
        weights = self.weights(sizes) if weights is None else weights
        made = None
        fit = self.fit
        if self.contract.parameters is not None:
            given = {**self.contract.arguments(sizes), **changes}
            given |= {name: self.contract.defaults[name] for name in fit.needed & _left_out(given)}
            arguments = {name: value for name, value in given.items() if value is not None}
            args, kwargs = (arguments.values(), {}) if by_position else ((), arguments)
            made = self.batch.create(self.contract.entry, tuple(args), kwargs, with_values, seed)
        return Module(self.contract, self.batch, sizes, weights, made, fit)

    @property
    def fit(self) -> Fit:
        """How the submission's module fits the contract, once a check has told that it does not."""
        if MISFIT not in self._memo or self.contract.parameters is None:
            return AS_IT_SHOULD_BE
        key = (self.contract, MISFIT)
        if key not in self._memo:
            try:
                self._memo[key] = fit_of(self.contract, self.session)
            except WorkerEnded:  # nothing is made up for: whoever makes one is told
                self._memo[key] = AS_IT_SHOULD_BE
        found: Fit = self._memo[key]
        return found

    def tell_misfit(self) -> None:
        """Have what is wrong with the modules made up for from here on: a check has told of it."""
        self._memo[MISFIT] = True

    def in_training(self, sizes: Sizes | None = None) -> Module:
        """Plan a module in training from which all chance is taken."""
        return self.module(sizes, **self.contract.deterministic).train()

    def face(
        self,
        sizes: Sizes | None = None,
        weights: Sequence[str] = (),
        dtype: torch.dtype | None = None,
    ) -> Face:
        """A function of the inputs that torch can call and differentiate.

        For ``torch.autograd.gradcheck`` and the like: each call is a request of its own.

        Args:
            sizes: The contract's first where None.
            weights: Names of parameters whose values are given after the inputs.
            dtype: Of the module's parameters.
        """
        module = self.module(sizes, {})
        if dtype is not None:
            module.to(dtype)
        target = self.contract.entry if module.made is None else module.made
        return Face(self.batch, target, weights, mode=None if module.made is None else False)

    def weights(self, sizes: Sizes) -> Weights:
        """Drawn weights for every parameter of the contract, float32."""
        shapes = self.contract.parameters(sizes) if self.contract.parameters else {}
        return {name: self._weight(name, shape) for name, shape in shapes.items()}

    def _weight(self, name: str, shape: tuple[int, ...]) -> Tensor:
        if len(shape) == 1:
            drawn = self.draw.normal(*shape, std=0.3)
            return 1 + drawn if name in self.contract.around_one else drawn
        fan_in = shape[1] if name.endswith(".weight") else shape[0]
        return self.draw.normal(*shape, std=GAIN / fan_in**0.5)

    def input(self, name: str, sizes: Sizes | None = None) -> Tensor:
        """One input, drawn."""
        sizes = self.contract.derived(sizes or self.sizes)
        given = self.contract.inputs[name]
        return given.draw(self.draw, sizes.shape(given.shape), sizes)

    def inputs(self, sizes: Sizes | None = None, *optional: str) -> dict[str, Tensor]:
        """All inputs, drawn; of those that a call may leave out, these."""
        return {
            name: self.input(name, sizes)
            for name, given in self.contract.inputs.items()
            if not (given.optional or given.handed_on) or name in optional
        }

    def every_input(self, sizes: Sizes | None = None) -> list[dict[str, Tensor]]:
        """Inputs without what a call may leave out, and the same ones with it, if there is any."""
        plain = self.inputs(sizes)
        more = {name: self.input(name, sizes) for name in self.contract.optional}
        whole = {**plain, **more}
        ordered = {name: whole[name] for name in self.contract.inputs if name in whole}
        return [plain, ordered] if more else [plain]

    def smooth_inputs(self, module: Module, *optional: str) -> dict[str, Tensor]:
        """Inputs at which no right gradient jumps: else rounding decides which side it is of."""
        drawn = (self.inputs(module.sizes, *optional) for _ in range(DRAWS))
        return next(inputs for inputs in drawn if not self.near_a_kink(module, inputs))

    def near_a_kink(self, module: Module, inputs: Mapping[str, Tensor]) -> bool:
        """Whether rounding may decide on which side of a jump a right gradient is."""
        if self.contract.kinks is None:
            return False
        plain = {name: exact(value) for name, value in inputs.items()}
        kinks = self.contract.kinks(right_weights(module.whole_weights), module.sizes, **plain)
        return bool(kinks.abs().min() < NEAR)


def _left_out(arguments: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, value in arguments.items() if value is None)
