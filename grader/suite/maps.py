"""What a submission attends to, beside what it should attend to."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.report import AttentionMap
from grader.suite.subject import Sizes
from grader.suite.trial import Trial
from grader.suite.weights import Module

T = 6  # positions: enough to see a pattern, few enough for a terminal


def attention_maps(trial: Trial) -> list[AttentionMap]:
    """The map of each head for one sequence, without a mask and, if it takes one, with.

    Recovered from outside: the vectors that are mixed are known, so the output tells what they
    were mixed with.

    Raises:
        SubmissionError: The submission raised an exception.
        CheckFailed: Its output has another shape, or it shows no weights.
    """
    subject = trial.subject
    if subject.mix is None:
        return [] if subject.inner is None else attention_maps(trial.of(subject.inner))
    heads = 2 if any(sizes.H > 1 for sizes in subject.sizes) else 1
    wide = replace(trial.sizes, H=heads).revealing()
    sizes = replace(wide, B=trial.sizes.B and 2, T=T)
    module = trial.module(sizes)
    x = trial.input(sizes)
    found = [*_maps(trial, module, x, None, sizes)]
    if subject.masks:
        causal = torch.ones(T, T, device=trial.device).tril()
        found += _maps(trial, module, x, causal, sizes)
    return found


def _maps(
    trial: Trial, module: Module, x: Tensor, mask: Tensor | None, sizes: Sizes
) -> list[AttentionMap]:
    yours = trial.map_of(module, x, trial.run(module, x, mask, sizes), sizes)
    right = trial.map_of(module, x, trial.expected(module, x, mask, sizes), sizes)
    if x.dim() == 3:
        yours, right = yours[0], right[0]  # (T, H, T): of the first sequence
    title = "under a causal mask" if mask is not None else "without a mask"
    return [
        AttentionMap.of(
            title if sizes.H == 1 else f"head {head + 1}, {title}",
            yours[:, head].tolist(),
            right[:, head].tolist(),
        )
        for head in range(sizes.H)
    ]
