"""The claims that suites share: each takes a harness and fails the check where it does not hold.

Each has an example; in those, ``claims`` is this package. What is asked of a module's cache, its
copies or its sampling beside these, and what claims are made of, is in the modules here.

Example:
    test_output_matches_the_formula = claims.matches_the_formula
"""

from grader.suite.claims.caches import (
    branches_agree,
    parts_agree_with_the_whole,
)
from grader.suite.claims.devices import is_pinned_to_no_device
from grader.suite.claims.gradients import (
    input_gradient_is_right,
    parameter_gradients_are_right,
    passes_gradcheck,
)
from grader.suite.claims.order import (
    future_gets_no_gradient,
    future_has_no_influence,
    handles_a_long_sequence_from_its_start,
)
from grader.suite.claims.robustness import (
    changes_no_input,
    computes_in_bfloat16,
    computes_in_float64,
    handles_a_long_sequence,
    handles_a_single_token,
    handles_non_contiguous_input,
    remembers_nothing,
)
from grader.suite.claims.structure import (
    call_raises,
    constructor_raises,
    constructor_raises_for_each,
    has_its_parameters,
    keeps_shape_and_dtype,
)
from grader.suite.claims.values import (
    batch_items_are_independent,
    follows_a_permutation,
    matches_the_formula,
    matches_the_formula_with_everything_given,
)

__all__ = [
    "batch_items_are_independent",
    "branches_agree",
    "call_raises",
    "changes_no_input",
    "computes_in_bfloat16",
    "computes_in_float64",
    "constructor_raises",
    "constructor_raises_for_each",
    "follows_a_permutation",
    "future_gets_no_gradient",
    "future_has_no_influence",
    "handles_a_long_sequence",
    "handles_a_long_sequence_from_its_start",
    "handles_a_single_token",
    "handles_non_contiguous_input",
    "has_its_parameters",
    "input_gradient_is_right",
    "is_pinned_to_no_device",
    "keeps_shape_and_dtype",
    "matches_the_formula",
    "matches_the_formula_with_everything_given",
    "parameter_gradients_are_right",
    "parts_agree_with_the_whole",
    "passes_gradcheck",
    "remembers_nothing",
]
