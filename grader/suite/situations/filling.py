"""Fill a situation with numbers: sizes, weights and inputs, anew for each grading."""

from __future__ import annotations

from grader.suite.harness import Harness
from grader.suite.right_results import sizes_of_call
from grader.suite.situations import gradients, history
from grader.suite.situations.arguments import variant_of
from grader.suite.situations.dtype import in_dtype
from grader.suite.situations.factors import Row
from grader.suite.situations.inputs import draw_input
from grader.suite.situations.situation import Situation
from grader.suite.situations.sizes import draw_sizes
from grader.suite.situations.weights import draw_weights


def fill(harness: Harness, row: Row, turn: int) -> Situation:
    """Draw the numbers of a situation with these levels.

    Args:
        harness: Gives the contract and the random numbers.
        row: The level of each factor.
        turn: How many earlier situations are about as long; see ``draw_sizes``.
    """
    contract = variant_of(harness.contract, row)
    variant_harness = harness.of(contract)
    sizes = draw_sizes(variant_harness, row, turn)
    weights = in_dtype(row, draw_weights(variant_harness, row, sizes))
    inputs = {name: draw_input(variant_harness, row, name, sizes) for name in contract.inputs}
    other_inputs = {
        name: history.draw_other_input(variant_harness, row, name, value, sizes)
        for name, value in inputs.items()
    }
    return Situation(
        row=row,
        contract=contract,
        sizes=sizes,
        changes=contract.deterministic,
        weights=weights,
        inputs=inputs,
        other_inputs=other_inputs,
        grad_outputs=gradients.draw_grad_outputs(
            variant_harness, row, sizes_of_call(contract, sizes, inputs)
        ),
        other_weights=history.draw_other_weights(variant_harness, row, sizes),
        frozen=gradients.draw_frozen(
            variant_harness, row, [name for name in weights if name not in contract.frozen]
        ),
        coin=bool(harness.draw.integer(0, 1)),
        earlier_inputs={
            name: history.draw_earlier_input(variant_harness, row, name, other, sizes)
            for name, other in other_inputs.items()
        },
        right_answers={},
    )
