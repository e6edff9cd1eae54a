"""Observe a submission in a few calls, as the evidence for a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.attention.pipeline import Observation, Pipeline
from grader.attention.search import Search
from grader.diagnosis.catalogue import Explanation, Mistake
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.suite.calls import PlannedCall
from grader.suite.compare import CheckFailed
from grader.suite.harness import Harness
from grader.suite.modules import Module
from grader.suite.oracle import exact, right_weights
from grader.suite.sizes import Sizes

MAX_OUTPUT_NUMBERS = 1 << 16  # a hundred times as many as in a right one
DROPOUT_RATE = 0.3  # not 0.5, so that it differs from the share that is kept
INNER_ATTENTION = "the attention inside"
ZERO_QUERIES = "output where all queries are zero"
OUTPUT = "output"
UNDER_MASK = "output under a mask"
OBSERVED_GRADIENTS = "gradients"
IN_TRAINING = "output in training"
IN_TRAINING_UNDER_MASK = "output in training under a mask"
PARTIAL_VIEWS = (INNER_ATTENTION, ZERO_QUERIES)  # these show only part of what the output shows


def with_zero_queries(harness: Harness, sizes: Sizes | None = None, **changes: Any) -> Module:
    """Plan a module, to be made when ``harness.ask`` sends all that is planned.

    Its weights make all queries attend to all keys alike, where the contract tells how.
    """
    contract: Any = harness.contract
    weights = contract.plain_weights(harness.weights(sizes or harness.sizes))
    return harness.module(sizes, weights, **changes)


def observe(harness: Harness) -> list[Observation]:
    """Call the submission at two sizes in each way that its exercise has; return what it computed.

    The ways are: with queries of zero, plainly, under a mask, with gradients, and with dropout.
    Those in which few mistakes show come first, so that a search is short. A call that
    raises an exception is left out, since values cannot explain it. So is a call whose output
    torch itself refuses to compute with, such as a tensor on another device.
    """
    contract: Any = harness.contract
    inner = [] if contract.inner is None else observe(harness.of(contract.inner))
    found = [replace(seen, call_kind=INNER_ATTENTION) for seen in inner if seen.call_kind == OUTPUT]
    for call_kind in (
        ZERO_QUERIES,
        OUTPUT,
        UNDER_MASK,
        OBSERVED_GRADIENTS,
        IN_TRAINING,
        IN_TRAINING_UNDER_MASK,
    ):
        if "mask" in call_kind and not contract.masks:
            continue
        if call_kind in (IN_TRAINING, IN_TRAINING_UNDER_MASK) and not contract.dropout:
            continue
        for place, sizes in enumerate(_sizes(harness)):
            try:
                found.append(_observe(harness, call_kind, sizes, first=place == 0))
            except (SubmissionError, SubmissionRefused, CheckFailed, RuntimeError):
                continue
    return found


def find_mistakes(
    harness: Harness, among: Sequence[str] | None = None, max_tried: int | None = None
) -> Explanation:
    """Observe the submission, and return the catalogue's mistakes that reproduce what it computed.

    ``among`` and ``max_tried`` are arguments of ``Search``.
    """
    contract: Any = harness.contract
    return Search(contract.layout, observe(harness), PARTIAL_VIEWS, among, max_tried).run()


def effects_of(mistakes: Sequence[Mistake], harness: Harness) -> dict[str, float]:
    """Return, by name, the largest difference that each mistake alone makes to a right output."""
    found = dict.fromkeys((mistake.name for mistake in mistakes), 0.0)
    for seen in observe(harness) if mistakes else ():
        pipeline = Pipeline.shared(seen)
        right = pipeline.output({}) if seen.call_kind == OUTPUT else None
        for mistake in mistakes if right is not None else ():
            out = pipeline.output({mistake.step: mistake.choice})
            if out is not None and right is not None and out.shape == right.shape:
                gap = float((out - right).abs().max())
                found[mistake.name] = max(found[mistake.name], gap)
    return found


def _sizes(harness: Harness) -> tuple[Sizes, Sizes]:
    """Return two settings of sizes, in each of which all numbers and their square roots differ."""
    first = harness.sizes
    if any(sizes.get("H", 1) > 1 for sizes in harness.contract.sizes):
        return Sizes(B=2, T=7, C=30, H=3), Sizes(B=3, T=5, C=44, H=4)
    if "E" in first:
        one, other = Sizes(B=first.B and 2, T=7, C=13, E=5), Sizes(B=first.B and 3, T=5, C=11, E=17)
        return one, other
    return Sizes(B=first.B and 3, T=7, C=13), Sizes(B=first.B and 2, T=5, C=3)


def _observe(harness: Harness, call_kind: str, sizes: Sizes, *, first: bool) -> Observation:
    contract: Any = harness.contract
    trains = call_kind in (OBSERVED_GRADIENTS, IN_TRAINING, IN_TRAINING_UNDER_MASK)
    rate = 0.0 if call_kind == OBSERVED_GRADIENTS else DROPOUT_RATE
    changes: dict[str, Any] = {"dropout_rate": rate} if contract.dropout else {}
    plan = with_zero_queries if call_kind == ZERO_QUERIES else Harness.module
    module = plan(harness, sizes, **changes)
    inputs = harness.smooth_inputs(module)
    if "mask" in call_kind:
        inputs["attention_mask"] = _mask(harness, sizes)
    seed = int(harness.draw.normal(1).abs() * 1e6)
    # Dropout is observed with gradients and without, as it should not depend on them.
    recording = call_kind == OBSERVED_GRADIENTS or (call_kind == IN_TRAINING and first)
    grad = harness.draw.normal(*sizes.shape(contract.out_shape)) if recording else None
    call = module.train(trains).call(inputs, grad_output=grad, seed=seed)
    again = (
        [module.call(inputs, seed=one) for one in (seed + 1, seed)]
        if call_kind in (OUTPUT, OBSERVED_GRADIENTS)
        else []
    )
    harness.ask()
    out = call.result if grad is None else call.out  # raises unless shaped as `grad`
    if not isinstance(out, Tensor) or out.device.type == "meta":
        raise CheckFailed("no tensor was returned")
    if out.numel() > MAX_OUTPUT_NUMBERS:  # before float64 makes it up to eight times as large
        raise CheckFailed("the output is too large to explain")
    mask = inputs.get("attention_mask")
    return Observation(
        call_kind=call_kind,
        layout=contract.layout,
        weights=right_weights(module.whole_weights),
        x=_plain(inputs["x"]),
        attention_mask=None if mask is None else mask.cpu(),
        heads=sizes.get("H", 1),
        training=trains,
        rate=rate,
        seed=seed,
        output=_plain(out),
        device=harness.batch.device,
        recording=recording,
        by_chance=_differs_by_chance(out, *(one.result for one in again)) if again else False,
        grad_output=None if grad is None or call_kind != OBSERVED_GRADIENTS else _plain(grad),
        gradients=None if grad is None or call_kind != OBSERVED_GRADIENTS else _gradients(call),
    )


def _differs_by_chance(out: Tensor, other_seed: object, same_seed: object) -> bool:
    """Return whether an output depends on random numbers, and on nothing left by earlier calls."""
    if not isinstance(other_seed, Tensor) or not isinstance(same_seed, Tensor):
        return False
    return torch.equal(out, same_seed) and not torch.equal(out, other_seed)


def _mask(harness: Harness, sizes: Sizes) -> Tensor:
    """Draw a mask that is neither triangular nor symmetric; one query sees all keys."""
    mask = harness.input("attention_mask", sizes)
    mask[:, 2] = True
    return mask


def _gradients(call: PlannedCall) -> dict[str, Tensor | None]:
    """Return the gradients by name; None for an input or a parameter that has none."""
    if not call.carries_gradients:
        return dict.fromkeys(("x", *call.weights))
    return {n: None if grad is None else exact(grad) for n, grad in call.gradients.items()}


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().double().cpu()
