"""function: attention as an autograd.Function with a backward by hand."""

from torch import Tensor

from grader.attention import attention_map
from grader.suite import Contract, Input, Sizes, Weights, claims


def attend(weights: Weights, sizes: Sizes, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """softmax(q·kᵀ/√D)·v."""
    return attention_map(q, k, sizes.D**-0.5) @ v


contract = Contract(
    entry="Attend.apply",
    sizes=(Sizes(B=2, T=3, S=5, D=7, E=2), Sizes(B=3, T=2, S=3, D=5, E=7)),
    inputs={"q": Input("B T D"), "k": Input("B S D"), "v": Input("B S E")},
    outputs={"output": "B T E"},
    oracle=attend,
)

test_output_matches_the_formula = claims.matches_the_formula
test_gradients_of_inputs = claims.input_gradient_is_right
test_backward_is_the_derivative = claims.passes_gradcheck
test_batch_items_are_independent = claims.batch_items_are_independent
test_inputs_are_not_changed = claims.changes_no_input
test_float64 = claims.computes_in_float64
test_non_contiguous = claims.handles_non_contiguous_input
