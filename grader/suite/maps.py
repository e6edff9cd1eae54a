"""What a submission attends to, beside what it should attend to."""

from __future__ import annotations

from dataclasses import replace

import torch

from grader.records import AttentionMap
from grader.suite.call import PlannedCall
from grader.suite.trial import Trial

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
    module, x = trial.module(sizes), trial.input(sizes)
    calls = [module.call(x)]
    if subject.masks:
        calls.append(module.call(x, torch.ones(T, T, device=trial.device).tril()))
    return [one for call in calls for one in _maps(call)]


def _maps(call: PlannedCall) -> list[AttentionMap]:
    yours, right = call.maps(call.out, call.expected)
    if call.x.dim() == 3:
        yours, right = yours[0], right[0]  # (T, H, T): of the first sequence
    sizes = call.module.sizes
    title = "under a causal mask" if call.mask is not None else "without a mask"
    return [
        AttentionMap.of(
            title if sizes.H == 1 else f"head {head + 1}, {title}",
            yours[:, head].tolist(),
            right[:, head].tolist(),
        )
        for head in range(sizes.H)
    ]
