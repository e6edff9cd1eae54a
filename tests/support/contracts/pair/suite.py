"""pair: a function that gives its output and the weights behind it."""

from torch import Tensor

from grader.attention import attention_map
from grader.suite import Contract, Input, Sizes, Weights, claims


def attend(weights: Weights, sizes: Sizes, q: Tensor, k: Tensor, v: Tensor) -> dict[str, Tensor]:
    """softmax(q·kᵀ/√D)·v, and the softmax."""
    shares = attention_map(q, k, sizes.D**-0.5)
    return {"output": shares @ v, "weights": shares}


contract = Contract(
    entry="attend",
    sizes=(Sizes(B=2, T=3, S=5, D=7, E=2), Sizes(B=3, T=5, S=3, D=2, E=7)),
    inputs={"q": Input("B T D"), "k": Input("B S D"), "v": Input("B S E")},
    outputs={"output": "B T E", "weights": "B T S"},
    oracle=attend,
)

test_outputs_keep_their_form = claims.keeps_shape_and_dtype
test_outputs_match_the_formula = claims.matches_the_formula
test_batch_items_are_independent = claims.batch_items_are_independent
test_queries_are_treated_alike = claims.follows_a_permutation
test_gradients_of_inputs = claims.input_gradient_is_right
test_inputs_are_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_float64 = claims.computes_in_float64
test_bfloat16 = claims.computes_in_bfloat16
test_no_device = claims.is_pinned_to_no_device
