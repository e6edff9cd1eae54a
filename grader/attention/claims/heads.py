"""Claims about heads; a suite gives some of them the names of its layers."""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader.suite.claims.structure import constructor_raises
from grader.suite.compare import expect_close
from grader.suite.harness import Harness
from grader.suite.marks import points

Check = Callable[[Harness], None]


@points(1)
def refuses_heads_that_do_not_divide(harness: Harness) -> None:
    """C features are split into H heads of equal size, or not at all.

    Example:
        test_heads_that_do_not_divide_are_refused = attention.refuses_heads_that_do_not_divide
    """
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7)):
        constructor_raises(harness, "ValueError", embed_dim=C, num_heads=H)


def heads_are_blocks(queries: str, output: str) -> Check:
    """Return a check that the second head of the queries has the second block of features.

    Args:
        queries: Name of the layer whose rows are the queries' features, (C, C).
        output: Name of the layer after the merging, (C, C); the check makes it the identity.

    Example:
        test_heads_are_blocks = attention.heads_are_blocks("q_proj", "o_proj")
    """

    @points(2)
    def check(harness: Harness) -> None:
        """Changing the middle head's queries changes that head's block of features and no other."""
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

    return check


def output_mixes_the_heads(output: str) -> Check:
    """Return a check that nothing bypasses the layer after the merging.

    Example:
        test_output_mixes_the_heads = attention.output_mixes_the_heads("o_proj")
    """

    @points(1)
    def check(harness: Harness) -> None:
        """Heads meet only in the last projection: with its weights at zero, nothing is left."""
        weights = harness.weights(harness.sizes)
        weights[f"{output}.weight"] *= 0
        call = harness.module(weights=weights).call(harness.inputs())
        harness.ask()
        expect_close(call.out, call.expected, f"output with {output} at zero")

    return check
