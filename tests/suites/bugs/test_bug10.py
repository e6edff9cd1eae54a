"""bug10: first values from [0, 1)."""

from grader.attention import attention_map
from grader.suite import (
    Harness,
    PlannedCall,
    Sizes,
    checks_of,
    claims,
    expect,
    load_suite,
    points,
)
from grader.suite.modules import Module
from grader.suite.oracle import exact, right_weights

variant = load_suite(__file__, "../warmups/test_warmup2.py")
contract = variant.contract
# Of one module and few queries, chance decides where the average is near a half, as it is of
# `torch.nn.init.kaiming_normal_` (0.46).
MODULES, BY_CHANCE = 8, 0.06


@points(4)
def test_fresh_module_spreads_its_attention(harness: Harness) -> None:
    """A saturated softmax has hardly any gradient to learn from."""
    sizes = Sizes(B=2, T=16, C=256, E=256)
    claims.has_its_parameters(harness, sizes)
    modules = [harness.module(sizes, {}, with_values=True) for _ in range(MODULES)]
    calls = [module.call(harness.inputs(sizes)) for module in modules]
    harness.ask()
    largest = sum(map(largest_weight, modules, calls)) / MODULES
    expect(
        largest < 0.5 + BY_CHANCE,
        "expected a fresh module of width 256 to spread its attention: the largest weight of a "
        f"query below 0.5 on average, got {largest:.2f}",
    )
    for call in calls:
        expect(call.out.shape == sizes.shape("B T E"), "expected an output")


def largest_weight(module: Module, call: PlannedCall) -> float:
    """The largest weight of each query, on average, by the values that the constructor gave."""
    weights, x = right_weights(module.first_weights), exact(call.tensors["x"])
    q, k = (x @ weights[name] for name in ("query", "key"))
    return float(attention_map(q, k, 1 / 16).amax(-1).mean())


globals().update(checks_of(variant))
