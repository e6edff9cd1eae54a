"""bug10: first values from [0, 1)."""

from grader.suite import claims
from grader.suite.compare import expect, expect_tensor
from grader.suite.marks import points
from grader.suite.oracle import attention_map, right_weights
from grader.suite.reuse import checks_of, load_suite
from grader.suite.subject import Sizes
from grader.suite.trial import Trial

variant = load_suite(__file__, "../warmups/test_warmup2.py")
subject = variant.subject


@points(4)
def test_fresh_module_spreads_its_attention(trial: Trial) -> None:
    """A saturated softmax has hardly a gradient to learn from."""
    sizes = Sizes(2, 16, 256, 256)
    claims.has_its_parameters(trial, sizes)
    module, x = trial.create(sizes), trial.input(sizes)
    weights = right_weights(dict(module.named_parameters(remove_duplicate=False)))
    q, k = (x.double().cpu() @ weights[name] for name in ("query", "key"))
    largest = float(attention_map(q, k, 1 / 16).amax(-1).mean())
    expect(
        largest < 0.5,
        "expected a fresh module of width 256 to spread its attention: the largest weight of a "
        f"query below 0.5 on average, got {largest:.2f}",
    )
    expect_tensor(module(x), sizes.shape(sizes.out), "output", "(B, T, E)")


globals().update(checks_of(variant))
