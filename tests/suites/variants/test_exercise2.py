"""exercise2: V2, one fused projection."""

from math import sqrt

from torch import Tensor

from grader.attention import AttentionContract, WeightLayout, attention_map
from grader.suite import Sizes, Weights, checks_of, linear, load_suite

exercise1 = load_suite(__file__, "test_exercise1.py")


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """softmax(q·kᵀ/√C)·v, with q, k, v in this order along the output of ``proj``."""
    q, k, v = linear(weights, "proj", x).chunk(3, dim=-1)
    return attention_map(q, k, 1 / sqrt(sizes.C)) @ v


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """One fused linear layer with bias."""
    return {"proj.weight": (3 * sizes.C, sizes.C), "proj.bias": (3 * sizes.C,)}


def value_vectors(weights: Weights, sizes: Sizes, x: Tensor) -> tuple[Tensor, float]:
    """What the attention weights mix: the values."""
    return linear(weights, "proj", x)[..., 2 * sizes.C :], 0.0


def zero_queries(weights: Weights) -> Weights:
    """All queries zero: the first third of ``proj``."""
    changed = {name: w.clone() for name, w in weights.items()}
    for name in ("proj.weight", "proj.bias"):
        changed[name][: len(changed[name]) // 3] = 0
    return changed


contract = AttentionContract(
    entry="SelfAttentionV2",
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3), Sizes(B=5, T=2, C=11)),
    arguments=lambda sizes: {"hidden_dim": sizes.C},
    parameters=shapes,
    oracle=attend,
    scale=lambda sizes: 1 / sqrt(sizes.C),
    value_vectors=value_vectors,
    zero_queries=zero_queries,
    layout=WeightLayout(fused="proj", bias=True),
)

globals().update(checks_of(exercise1))
