"""A small example of attention, on which a mistake can be shown."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.attention.layout import WeightLayout
from grader.attention.pipeline import Observation, Pipeline
from grader.diagnosis.catalogue import Mistake
from grader.records import AttentionMap

T, C = 6, 8
GAIN = 1.3


def example_map(mistake: Mistake) -> AttentionMap | None:
    """Return one head's attention map with this mistake, beside the right map.

    The tokens and weights are always the same, and the mask is causal if the mistake needs one.
    The result is None where both maps agree, or where one of them cannot be computed.
    """
    layout = _layout(set(mistake.needs))
    pipeline = Pipeline(_observation(layout))
    right, wrong = pipeline.state({}), pipeline.state({mistake.step: mistake.choice})
    if right is None or wrong is None:
        return None
    yours, expected = wrong.attention.expand(2, -1, T, T)[0, 0], right.attention[0, 0]
    title = "under a causal mask" if layout.masks else "of the example"
    shown = AttentionMap.of(title, yours.tolist(), expected.tolist())
    return shown if shown.wrong else None


def _layout(needs: set[str]) -> WeightLayout:
    fused = "fused" in needs
    return WeightLayout(
        *(("", "", "") if fused else ("q", "k", "v")),
        fused="proj" if fused else "",
        output="out",
        bias=True,
        scaled="unscaled" not in needs,
        heads="heads" in needs,
        masks="masks" in needs,
        dropout="dropout" in needs,
    )


def _observation(layout: WeightLayout) -> Observation:
    draw = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    weights = {}
    for name, width in (("q", C), ("k", C), ("v", C), ("proj", 3 * C), ("out", C)):
        weights[f"{name}.weight"] = normal(width, C) * GAIN / C**0.5
        weights[f"{name}.bias"] = normal(width) * 0.3
    x = normal(2, T, C)
    mask = torch.ones(T, T).tril() if layout.masks else None
    heads = 2 if layout.heads else 1
    training = layout.dropout
    return Observation("example", layout, weights, x, mask, heads, training, 0.3, 0, x)
