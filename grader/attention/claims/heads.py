"""Claims about heads; of some the suite tells the names of its layers."""

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
    """C features are cut into H heads of the same size, or not at all."""
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7)):
        constructor_raises(harness, "ValueError", embed_dim=C, num_heads=H)


def heads_are_blocks(queries: str, output: str) -> Check:
    """A check that the second head of the queries has the second block of features.

    Args:
        queries: The layer whose rows are the queries' features, (C, C).
        output: The layer after the merging, (C, C), which leaves all as it is meanwhile.
    """

    @points(2)
    def check(harness: Harness) -> None:
        """Other queries in the middle head change that head's block of features and no other."""
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
    """A check that the layer after the merging has the last word."""

    @points(1)
    def check(harness: Harness) -> None:
        """The last projection is the only place where heads meet: at zero it leaves nothing."""
        weights = harness.weights(harness.sizes)
        weights[f"{output}.weight"] *= 0
        call = harness.module(weights=weights).call(harness.inputs())
        harness.ask()
        expect_close(call.out, call.expected, f"output with {output} at zero")

    return check
