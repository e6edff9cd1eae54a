"""Gives a check what it tries a submission with: planned modules, drawn weights and inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, TypeVar

import torch
from torch import Tensor

from grader.records.progress import OnProgress
from grader.sandbox.batch import RequestBatch
from grader.sandbox.face import DifferentiableProxy
from grader.sandbox.pace import SHORT_T, Work
from grader.sandbox.session import Session
from grader.sandbox.workers import NotTried, WorkerEnded
from grader.suite.calls import PlannedCall
from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.fitting import NO_DEVIATIONS, Deviations, find_deviations
from grader.suite.modules import Module
from grader.suite.oracle import Weights
from grader.suite.sizes import Sizes

_T = TypeVar("_T")

# Queries and keys drawn with this gain give scores of about ±1.4 after scaling: weights that
# are neither uniform nor one-hot, so that a wrong scale shows.
WEIGHT_GAIN = 1.2
MISFIT_KEY = "misfit"  # of the memo, set once a check has reported a misfit (`Harness.tell_misfit`)
MAX_TIME_SHARE = 0.1  # of the time left, for the calls of `Harness.within_reach`
MEMORY_FACTOR = 4  # on what is kept for a backward, as calls may be made on another device as well
MAX_DRAWS = 1000  # of inputs, of which about every sixth lies near a kink


class Harness:
    """A check's access to the submission: plans modules and calls, draws inputs, sends requests.

    To plan a step, such as a call, is to queue it; ``ask`` sends all planned steps to the worker.

    Args:
        contract: Contract that the submission is tried by.
        session: Session of the submission.
        draw: The check's source of random numbers.
        memo: Cache of what checks of the same grading have observed; see ``shared``.
        claims: Names of the claims that the suite checks.
        seed: Seed of the whole grading.

    Example:
        @points(2)
        def test_twice_the_batch_changes_nothing(harness: Harness) -> None:
            'Each sequence gives what it gives in a smaller batch.'
            inputs, module = harness.inputs(), harness.module()
            alone = module.call(inputs)
            twice = module.call({"x": torch.cat([inputs["x"], inputs["x"]])})
            harness.ask()
            expect_close(twice.out, torch.cat([alone.out, alone.out]))
    """

    def __init__(
        self,
        contract: Contract,
        session: Session,
        draw: Draw,
        memo: dict[Any, Any],
        claims: frozenset[str] = frozenset(),
        seed: int = 0,
        progress: OnProgress | None = None,
    ) -> None:
        self.contract = contract
        self.session = session
        self.draw = draw
        self.claims = claims
        self.seed = seed
        self.progress = progress
        self._memo = memo
        self._batch: RequestBatch | None = None

    @property
    def batch(self) -> RequestBatch:
        """The batch of steps that are planned and not yet sent; a new one for each new worker."""
        if self._batch is None or self._batch.channel is not self.session.channel:
            self._batch = self.session.batch()
        return self._batch

    @property
    def sizes(self) -> Sizes:
        """The contract's first sizes, which are used where one set of sizes is enough."""
        return self.contract.sizes[0]

    def of(self, contract: Contract, claims: frozenset[str] | None = None) -> Harness:
        """Return a harness for another contract; its steps are sent in the same request as these.

        Args:
            contract: The other contract.
            claims: Names of the claims that are checked of it; None for those of the suite.
        """
        other = copy(self)
        other.contract, other._batch = contract, self.batch
        other.claims = self.claims if claims is None else claims
        return other

    def drawing(self, draw: Draw) -> Harness:
        """Return a copy of this harness with another source of random numbers."""
        other = self.of(self.contract)
        other.draw = draw
        return other

    def ask(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Send all that is planned in one request; after it, the results can be read.

        Args:
            meanwhile: Called while the worker is busy.

        Raises:
            WorkerEnded: The worker crashed, exited, took too long, or answered nonsense.
        """
        self.batch.send(meanwhile)

    def ask_for(self, calls: Iterable[PlannedCall]) -> None:
        """Send all that is planned; compute these calls' right answers while the worker is busy."""

        def foresee() -> None:
            for call in calls:
                call.foresee()

        self.ask(foresee)

    def within_reach(self, sizes: Sizes, calls: int = 1, learns: bool = False) -> Sizes:
        """Return the sizes, with T and S halved until time and memory suffice for some calls.

        They are halved as well where no situation of that length was answered, as that has cost a
        check of its own.

        Args:
            sizes: The sizes that are wanted.
            calls: Number of calls to be made at these sizes.
            learns: Whether the calls are made with gradients.
        """
        most_s = min(MAX_TIME_SHARE * self.session.budget.left, self.session.budget.timeout)
        while sizes.length > 2 * SHORT_T and (
            self.session.pace.seconds_for(Work.of(calls * sizes.scores, learns)) > most_s
            or self.session.pace.is_too_much(MEMORY_FACTOR * sizes.scores)
            or self.session.pace.is_too_long(sizes.length)
        ):
            sizes = sizes.replace(**{n: (sizes[n] + 1) // 2 for n in "TS" if n in sizes})
        return sizes

    def shared(self, observe: Callable[[Harness], _T]) -> _T:
        """Return what ``observe`` finds for this contract, computed once for all checks that ask.

        ``observe`` must return data, no module: a worker may end between two checks. What it draws
        is the same whichever check asks first. An error that ended the worker is kept and raised
        again; after any other, the next check tries anew.
        """
        key = (self.contract, observe)
        if key not in self._memo:
            before = len(self.session.exchanges)
            try:
                name = getattr(observe, "__qualname__", "")
                seed = derive_seed(self.seed, f"{observe.__module__}.{name}")
                self._memo[key] = observe(self.drawing(Draw(seed)))
            except NotTried:
                raise
            except WorkerEnded as error:
                self._memo[key] = error
            for exchange in self.session.exchanges[before:]:
                exchange.fine = exchange.fine or []  # not None: this check alone does not judge it
        found: _T | WorkerEnded = self._memo[key]
        if isinstance(found, WorkerEnded):
            raise found.with_traceback(None)
        return found

    def module(
        self,
        sizes: Sizes | None = None,
        weights: Weights | None = None,
        with_values: bool = False,
        seed: int | None = None,
        by_position: bool = False,
        **changes: Any,
    ) -> Module:
        """Plan to construct the contract's module, in evaluation mode; a function needs no step.

        Args:
            sizes: Sizes of the module; None for the contract's first sizes.
            weights: Weights to set; None to draw them, empty to keep those of the constructor.
            with_values: Whether the worker sends the values that the constructor gives parameters.
            seed: Seed of the worker's random numbers, set before the module is made.
            by_position: Whether the constructor's arguments are passed by position, not by name.
            changes: Constructor arguments to change; None leaves one out.
        """
        sizes = sizes or self.sizes
        weights = self.weights(sizes) if weights is None else weights
        made = None
        deviations = self.deviations
        if self.contract.parameters is not None:
            given = {**self.contract.arguments(sizes), **changes}
            left_out = deviations.needed & {name for name, value in given.items() if value is None}
            given |= {name: self.contract.defaults[name] for name in left_out}
            arguments = {name: value for name, value in given.items() if value is not None}
            args, kwargs = (arguments.values(), {}) if by_position else ((), arguments)
            made = self.batch.create(self.contract.entry, tuple(args), kwargs, with_values, seed)
        return Module(self.contract, self.batch, sizes, weights, made, deviations)

    @property
    def deviations(self) -> Deviations:
        """The module's deviations to compensate for; none until a check has reported a misfit."""
        if MISFIT_KEY not in self._memo or self.contract.parameters is None:
            return NO_DEVIATIONS
        key = (self.contract, MISFIT_KEY)
        if key not in self._memo:
            try:
                self._memo[key] = find_deviations(self.contract, self.session)
            except WorkerEnded:  # compensate for nothing: a check that needs the module raises this
                self._memo[key] = NO_DEVIATIONS
        found: Deviations = self._memo[key]
        return found

    def tell_misfit(self) -> None:
        """Note that a check has reported a misfit of the module: later checks compensate for it."""
        self._memo[MISFIT_KEY] = True

    def in_training(self, sizes: Sizes | None = None) -> Module:
        """Plan a module in training mode, with constructor arguments by which nothing is random."""
        return self.module(sizes, **self.contract.deterministic).train()

    def face(
        self,
        sizes: Sizes | None = None,
        weights: Sequence[str] = (),
        dtype: torch.dtype | None = None,
    ) -> DifferentiableProxy:
        """Return the submission as a function of its inputs that torch can differentiate.

        For ``torch.autograd.gradcheck`` and the like: each call is a request of its own.

        Args:
            sizes: Sizes of the module; None for the contract's first sizes.
            weights: Names of parameters whose values are passed after the inputs.
            dtype: Dtype of the module's parameters.
        """
        module = self.module(sizes, {})
        if dtype is not None:
            module.to(dtype)
        target = self.contract.entry if module.made is None else module.made
        return DifferentiableProxy(
            self.batch, target, weights, mode=None if module.made is None else False
        )

    def weights(self, sizes: Sizes) -> Weights:
        """Draw weights for every parameter of the contract, float32."""
        shapes = self.contract.parameters(sizes) if self.contract.parameters else {}
        return {name: self._weight(name, shape) for name, shape in shapes.items()}

    def _weight(self, name: str, shape: tuple[int, ...]) -> Tensor:
        if len(shape) == 1:
            drawn = self.draw.normal(*shape, std=0.3)
            return 1 + drawn if name in self.contract.around_one else drawn
        fan_in = shape[1] if name.endswith(".weight") else shape[0]
        return self.draw.normal(*shape, std=WEIGHT_GAIN / fan_in**0.5)

    def input(self, name: str, sizes: Sizes | None = None) -> Tensor:
        """Draw the input of this name, at the contract's first sizes if ``sizes`` is None."""
        sizes = self.contract.derived(sizes or self.sizes)
        given = self.contract.inputs[name]
        return given.draw(self.draw, sizes.shape(given.shape), sizes)

    def inputs(self, sizes: Sizes | None = None, *optional: str) -> dict[str, Tensor]:
        """Draw the inputs that every call needs and those named in ``optional``, by name."""
        return {
            name: self.input(name, sizes)
            for name, given in self.contract.inputs.items()
            if not (given.optional or given.handed_on) or name in optional
        }

    def every_input(self, sizes: Sizes | None = None) -> list[dict[str, Tensor]]:
        """Draw the inputs of a call without the optional ones, then with them if there are any."""
        plain = self.inputs(sizes)
        more = {name: self.input(name, sizes) for name in self.contract.optional}
        whole = {**plain, **more}
        ordered = {name: whole[name] for name in self.contract.inputs if name in whole}
        return [plain, ordered] if more else [plain]

    def smooth_inputs(self, module: Module, *optional: str) -> dict[str, Tensor]:
        """Draw inputs until they do not lie near a kink, where a right gradient jumps.

        There, rounding would decide which of two gradients comes out.
        """
        drawn = (self.inputs(module.sizes, *optional) for _ in range(MAX_DRAWS))
        return next(inputs for inputs in drawn if not module.is_near_a_kink(inputs))
