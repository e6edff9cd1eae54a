"""bug10: first values from [0, 1)."""

from grader.attention import attention_map
from grader.suite import Harness, Sizes, checks_of, claims, expect, load_suite, points
from grader.suite.oracle import exact, right_weights

variant = load_suite(__file__, "../warmups/test_warmup2.py")
contract = variant.contract


@points(4)
def test_fresh_module_spreads_its_attention(harness: Harness) -> None:
    """A saturated softmax has hardly any gradient to learn from."""
    sizes = Sizes(B=2, T=16, C=256, E=256)
    claims.has_its_parameters(harness, sizes)
    module = harness.module(sizes, {}, with_values=True)
    call = module.call(harness.inputs(sizes))
    harness.ask()
    weights, x = right_weights(module.first_weights), exact(call.tensors["x"])
    q, k = (x @ weights[name] for name in ("query", "key"))
    largest = float(attention_map(q, k, 1 / 16).amax(-1).mean())
    expect(
        largest < 0.5,
        "expected a fresh module of width 256 to spread its attention: the largest weight of a "
        f"query below 0.5 on average, got {largest:.2f}",
    )
    expect(call.out.shape == sizes.shape("B T E"), "expected an output")


globals().update(checks_of(variant))
