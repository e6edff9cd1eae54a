"""bug18: labels shifted twice."""

import torch

from grader.suite import Harness, checks_of, expect_close, load_suite, points

variant = load_suite(__file__, "../decoder/test_decoder9.py")
contract = variant.contract


@points(4)
def test_a_position_learns_what_comes_next(harness: Harness) -> None:
    """By its own logits: the loss that each token would give, if it came next."""
    module, V = harness.of(variant.loss).module(), harness.sizes.V
    tokens = harness.draw.order(V)[None, :4]  # no two alike: each foretells something else
    logits = harness.module(weights=module.weights).call({"tokens": tokens})
    labels = torch.full((V, 4), variant.IGNORED)
    labels[:, 2] = torch.arange(V)
    calls = [module.call({"tokens": tokens, "labels": each[None]}) for each in labels]
    harness.ask()
    lost = torch.stack([call.out for call in calls])
    expect_close(
        lost, -logits.out[0, 1].double().log_softmax(-1), "loss of each label at position 2"
    )


globals().update(checks_of(variant))
