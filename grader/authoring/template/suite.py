"""unit_rows: each row divided by its length."""

from torch import Tensor

from grader.suite import Contract, Harness, Sizes, Weights, claims, expect_close, points


def right(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """Each row by its length: x / √(Σ x² + 1e-6)."""
    return x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()


contract = Contract(
    entry="unit_rows",
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3)),
    oracle=right,
)

test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_batch_items_are_independent = claims.batch_items_are_independent
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_computes_in_float64 = claims.computes_in_float64
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device


@points(2)
def test_row_of_zeros_stays_zeros(harness: Harness) -> None:
    """Its length is 0, and nothing may be divided by that."""
    x = harness.inputs()["x"]
    x[:, 0] = 0
    call = harness.module().call({"x": x})
    harness.ask()
    expect_close(call.out, call.expected)
