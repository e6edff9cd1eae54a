"""A small attention that a mistake can be shown on."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.diagnosis.catalogue import Mistake
from grader.diagnosis.form import Form
from grader.diagnosis.pipeline import Observation, Pipeline
from grader.records import AttentionMap

T, C = 6, 8
GAIN = 1.3


def example_map(mistake: Mistake) -> AttentionMap | None:
    """What one head attends to with this mistake, beside the right map; None where both agree.

    Always the same tokens and weights. Under a causal mask where the mistake needs a mask.
    """
    form = _form(set(mistake.needs))
    pipeline = Pipeline(_observation(form))
    right, wrong = pipeline.state({}), pipeline.state({mistake.step: mistake.choice})
    if right is None or wrong is None:
        return None
    yours, expected = wrong.attention.expand(2, -1, T, T)[0, 0], right.attention[0, 0]
    title = "under a causal mask" if form.masks else "of the example"
    shown = AttentionMap.of(title, yours.tolist(), expected.tolist())
    return shown if shown.wrong else None


def _form(needs: set[str]) -> Form:
    fused = "fused" in needs
    return Form(
        *(("", "", "") if fused else ("q", "k", "v")),
        fused="proj" if fused else "",
        output="out",
        bias=True,
        scaled="unscaled" not in needs,
        heads="heads" in needs,
        masks="masks" in needs,
        dropout="dropout" in needs,
    )


def _observation(form: Form) -> Observation:
    draw = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    weights = {}
    for name, width in (("q", C), ("k", C), ("v", C), ("proj", 3 * C), ("out", C)):
        weights[f"{name}.weight"] = normal(width, C) * GAIN / C**0.5
        weights[f"{name}.bias"] = normal(width) * 0.3
    x = normal(2, T, C)
    mask = torch.ones(T, T).tril() if form.masks else None
    heads = 2 if form.heads else 1
    training = form.dropout
    return Observation("example", form, weights, x, mask, heads, training, 0.3, 0, x)
