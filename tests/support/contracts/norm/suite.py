"""norm: a layer norm, that has nothing to do with attention."""

from torch import Tensor

from grader.suite import Contract, Harness, Sizes, Weights, claims, expect_finite, points
from grader.suite.oracle import layer_norm


def norm(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """(x - mean) / √(variance + 1e-5), then gain and bias."""
    return layer_norm({f"n.{name}": weight for name, weight in weights.items()}, "n", x)


contract = Contract(
    entry="Norm",
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3)),
    arguments=lambda sizes: {"width": sizes.C},
    parameters=lambda sizes: {"weight": (sizes.C,), "bias": (sizes.C,)},
    around_one=("weight",),
    oracle=norm,
    fit=lambda sizes: sizes.replace(C=max(sizes.C, 3)),  # of fewer, a norm leaves but signs
)

test_parameters = claims.has_its_parameters
test_output_keeps_its_form = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_batch_items_are_independent = claims.batch_items_are_independent
test_tokens_are_treated_alike = claims.follows_a_permutation
test_gradient_of_the_input = claims.input_gradient_is_right
test_gradients_of_parameters = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_float64 = claims.computes_in_float64
test_no_device = claims.is_pinned_to_no_device


@points(1)
def test_constant_input_stays_finite(harness: Harness) -> None:
    """Its variance is 0."""
    inputs = harness.inputs()
    call = harness.module().call({"x": inputs["x"] * 0 + 3})
    harness.ask()
    expect_finite(call.out)
