"""Claims about heads, which a suite makes by the names of its layers."""

from __future__ import annotations

import torch

from grader.suite.compare import expect_close
from grader.suite.harness import Harness


def heads_are_blocks(harness: Harness, queries: str, output: str) -> None:
    """Other queries in the second head change that head's block of features and no other.

    Args:
        harness: Plans the calls.
        queries: The layer whose rows are the queries' features, (C, C).
        output: The layer after the merging, (C, C), which leaves all as it is meanwhile.
    """
    sizes = harness.sizes
    D = sizes.C // sizes.H
    module, inputs = harness.module(), harness.inputs()
    plain = {f"{output}.weight": torch.eye(sizes.C)}
    before = module.set(plain).call(inputs)
    name = f"{queries}.weight"
    changed = module.weights[name].clone()
    changed[D : 2 * D] = harness.weights(sizes)[name][D : 2 * D]
    after = module.set({name: changed}).call(inputs)
    harness.ask()
    old, new, expected = before.out, after.out, before.expected
    for block in (slice(0, D), slice(2 * D, None)):
        expect_close(new[..., block], old[..., block].double(), "features of the other heads")
        expect_close(old[..., block], expected[..., block], "features of the other heads")
    expect_close(new, after.expected, f"features of all heads, without {output}")


def output_mixes_the_heads(harness: Harness, output: str) -> None:
    """With its weight at zero, the layer after the merging leaves nothing."""
    weights = harness.weights(harness.sizes)
    weights[f"{output}.weight"] *= 0
    call = harness.module(weights=weights).call(harness.inputs())
    harness.ask()
    expect_close(call.out, call.expected, f"output with {output} at zero")
