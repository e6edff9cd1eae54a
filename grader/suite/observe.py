"""What a submission does, seen in a few calls: the ground of a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from grader.diagnosis.pipeline import Observation
from grader.diagnosis.search import Explanation, Search
from grader.sandbox.faults import SubmissionError, SubmissionRefused
from grader.suite.call import PlannedCall
from grader.suite.compare import CheckFailed
from grader.suite.oracle import right_weights
from grader.suite.subject import Sizes
from grader.suite.trial import Trial

RATE = 0.3  # of dropout: neither a half nor its own rest
INSIDE = "the attention inside"
EVEN = "output where all queries are zero"
OUTPUT = "output"
MASKED = "output under a mask"
TRAINED = "gradients"
DROPPED = "output in training"
DROPPED_MASKED = "output in training under a mask"
EARLY = (INSIDE, EVEN)  # a part of what the output shows


def observe(trial: Trial) -> list[Observation]:
    """Two inputs of other sizes for each of what an exercise has: mask, gradients, dropout.

    First what few mistakes show in, so that a search is short. What raises an exception is left
    out: that is not to be explained by values. So is what torch itself refuses to compute with,
    such as a tensor of another device.
    """
    subject = trial.subject
    inner = [] if subject.inner is None else observe(trial.of(subject.inner))
    found = [replace(seen, what=INSIDE) for seen in inner if seen.what == OUTPUT]
    for what in (EVEN, OUTPUT, MASKED, TRAINED, DROPPED, DROPPED_MASKED):
        if "mask" in what and not subject.masks:
            continue
        if what in (DROPPED, DROPPED_MASKED) and not subject.dropout:
            continue
        for sizes in _sizes(trial):
            try:
                found.append(_observe(trial, what, sizes))
            except (SubmissionError, SubmissionRefused, CheckFailed, RuntimeError):
                continue
    return found


def explain(
    trial: Trial, among: Sequence[str] | None = None, tried: int | None = None
) -> Explanation:
    """Which mistakes reproduce what is observed; ``among`` and ``tried`` as in ``Search``."""
    form = trial.subject.form
    assert form is not None
    return Search(form, observe(trial), EARLY, among, tried).run()


def _sizes(trial: Trial) -> tuple[Sizes, Sizes]:
    """Sizes in which every number, and every root, is another one."""
    first = trial.sizes
    if first.H > 1 or any(sizes.H > 1 for sizes in trial.subject.sizes):
        return Sizes(2, 7, 30, H=3), Sizes(3, 5, 44, H=4)
    if first.E:
        return Sizes(first.B and 2, 7, 13, 5), Sizes(first.B and 3, 5, 11, 17)
    return Sizes(first.B and 3, 7, 13), Sizes(first.B and 2, 5, 3)


def _observe(trial: Trial, what: str, sizes: Sizes) -> Observation:
    form = trial.subject.form
    assert form is not None
    trains = what in (TRAINED, DROPPED, DROPPED_MASKED)
    rate = 0.0 if what == TRAINED else RATE
    make = trial.levelled if what == EVEN else trial.module
    changes: dict[str, Any] = {"dropout_rate": rate} if trial.subject.dropout else {}
    module = make(sizes, **changes)
    x = trial.smooth_input(module)
    mask = _mask(trial, sizes) if "mask" in what else None
    seed = int(trial.draw.normal(1).abs() * 1e6)
    weigh = trial.draw.normal(*sizes.shape(sizes.out)) if what == TRAINED else None
    call = module.train(trains).call(x, mask, weigh=weigh, seed=seed)
    out = call.result if weigh is None else call.out  # of its shape, where it is weighed
    if not isinstance(out, Tensor) or out.device.type == "meta":
        raise CheckFailed("no tensor came")
    return Observation(
        what=what,
        form=form,
        weights=right_weights(module.weights),
        x=_plain(x),
        attention_mask=None if mask is None else mask.cpu(),
        heads=sizes.H,
        training=trains,
        rate=rate,
        seed=seed,
        output=_plain(out),
        weigh=None if weigh is None else _plain(weigh),
        gradients=None if weigh is None else _gradients(call),
    )


def _mask(trial: Trial, sizes: Sizes) -> Tensor:
    """A mask that is no triangle and not its own transpose; one query sees everything."""
    mask = trial.draw.mask(sizes.B, sizes.T, sizes.T)
    mask[:, 2] = True
    return mask


def _gradients(call: PlannedCall) -> dict[str, Tensor | None]:
    """The gradients, None where there is none."""
    if not call.carries_gradients:
        return dict.fromkeys(("x", *call.weights))
    return {n: None if grad is None else _plain(grad) for n, grad in call.gradients.items()}


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().double().cpu()
