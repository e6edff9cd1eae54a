"""What a submission does, seen in a few calls: the ground of a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from grader.diagnosis.pipeline import Observation
from grader.diagnosis.search import Explanation, Search
from grader.sandbox.faults import SubmissionError, SubmissionRefused
from grader.suite.compare import CheckFailed
from grader.suite.subject import Sizes
from grader.suite.trial import Trial
from grader.suite.weights import Module, right_weights

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
    module = trial.module(sizes, **({"dropout_rate": rate} if trial.subject.dropout else {}))
    if what == EVEN:
        trial.level(module)
    if isinstance(module, nn.Module):
        module.train(trains)
    x = trial.smooth_input(module, sizes)
    mask = _mask(trial, sizes) if "mask" in what else None
    seed = int(trial.draw.normal(1).abs() * 1e6)
    trial.submission.seed(seed)
    weigh = trial.draw.normal(*sizes.shape(sizes.out))
    gradients: dict[str, Tensor | None] | None = None
    if what == TRAINED:
        out, gradients = _with_gradients(trial, module, x, weigh, sizes)
    else:
        with torch.no_grad():
            out = module(x) if mask is None else module(x, mask)
    if not isinstance(out, Tensor) or out.device.type == "meta":
        raise CheckFailed("no tensor came")
    return Observation(
        what=what,
        form=form,
        weights=right_weights(module),
        x=_plain(x),
        attention_mask=None if mask is None else mask.cpu(),
        heads=sizes.H,
        training=trains,
        rate=rate,
        seed=seed,
        output=_plain(out),
        weigh=_plain(weigh) if gradients is not None else None,
        gradients=gradients,
    )


def _mask(trial: Trial, sizes: Sizes) -> Tensor:
    """A mask that is no triangle and not its own transpose; one query sees everything."""
    mask = trial.draw.mask(sizes.B, sizes.T, sizes.T)
    mask[:, 2] = True
    return mask


def _with_gradients(
    trial: Trial, module: Module, x: Tensor, weigh: Tensor, sizes: Sizes
) -> tuple[Tensor, dict[str, Tensor | None]]:
    x = x.clone().requires_grad_()
    sources = {"x": x}
    if isinstance(module, nn.Module):
        sources |= dict(module.named_parameters())
    out = module(x)
    if not isinstance(out, Tensor) or out.shape != weigh.shape or out.device.type == "meta":
        raise CheckFailed("no tensor of the right shape came")
    if not out.requires_grad:
        return out, dict.fromkeys(sources)
    learned = {name: value for name, value in sources.items() if value.requires_grad}
    found = torch.autograd.grad((out * weigh).sum(), list(learned.values()), allow_unused=True)
    given = dict(zip(learned, found, strict=True))
    return out, {n: None if given.get(n) is None else _plain(given[n]) for n in sources}


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().double().cpu()
