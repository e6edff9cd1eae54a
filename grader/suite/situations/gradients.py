"""The factors of gradients: of what they are asked, and in which way."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.situations.dtype import DTYPES
from grader.suite.situations.factors import ABSENT, Factor, Row, Rule
from grader.suite.situations.outcomes import SituationLike
from grader.suite.sizes import Sizes
from grader.wire.messages import BackwardVariant

UNDER_NO_GRAD, OF_AN_X_THAT_LEARNS = "under no_grad", "under no_grad, of an x that learns"
IN_INFERENCE_MODE = "in inference mode"
NO_GRADIENTS = (UNDER_NO_GRAD, OF_AN_X_THAT_LEARNS, IN_INFERENCE_MODE)
INNER = "through another layer"
FIRST_ALONE, ALL_BUT_FIRST = "of the first input alone", "of all inputs but the first"
OF_PARAMETERS, OF_X_ALONE = "of the parameters alone", "of x alone"
WITH_FROZEN_LAYER = "with a layer frozen"
GRADIENTS = Factor("gradients", ("wanted", INNER, *NO_GRADIENTS))
GRADIENTS_OF_INPUTS = Factor("gradients", (*GRADIENTS.levels, FIRST_ALONE, ALL_BUT_FIRST))
GRADIENTS_OF_PARAMETERS = Factor(
    "gradients", (*GRADIENTS.levels, OF_PARAMETERS, OF_X_ALONE, WITH_FROZEN_LAYER)
)
GRADIENTS_OF_NO_INPUT = Factor(
    "gradients", ("wanted", WITH_FROZEN_LAYER, UNDER_NO_GRAD, IN_INFERENCE_MODE)
)
RESIDUAL = "beside a residual"
GRADIENT_WAY = Factor(
    "gradients asked for",
    (
        ABSENT, "as usual", "of the transposed output", "into .grad", "a second time",
        "times 65536", "times 1e-6", RESIDUAL,
    ),
)  # fmt: skip
GRADIENT_WAY_OF_ANOTHER_FORM = Factor(GRADIENT_WAY.name, GRADIENT_WAY.levels[:-1])
OF_THE_SUM = "of the sum"  # each number's gradient is 1, and all of them one in memory
SCALES = {"times 65536": 65536.0, "times 1e-6": 1e-6}
BACKWARDS: dict[str, BackwardVariant] = {
    RESIDUAL: "residual", "of the transposed output": "transposed", "into .grad": "accumulated",
    "a second time": "again",
}  # fmt: skip
CLAIMS = ("parameter_gradients_are_right", "input_gradient_is_right")  # about gradients
# Which situations a claim is about.
APPLIES_TO: dict[str, Callable[[SituationLike], bool]] = dict.fromkeys(
    CLAIMS, lambda one: one.row.get("gradients") == "wanted"
)
RULES: tuple[Rule, ...] = (
    # There is a way to ask for gradients exactly where gradients are wanted.
    (
        (GRADIENTS.name, GRADIENT_WAY.name),
        lambda row: (row[GRADIENTS.name] in NO_GRADIENTS) == (row[GRADIENT_WAY.name] == ABSENT),
    ),
    # A residual also passes its gradient to the first input.
    (
        (GRADIENTS.name, GRADIENT_WAY.name),
        lambda row: (
            row[GRADIENT_WAY.name] != RESIDUAL
            or row[GRADIENTS.name] not in (OF_PARAMETERS, ALL_BUT_FIRST)
        ),
    ),
)


def factor_of(contract: Contract) -> Factor:
    """Return the factor for what gradients are asked of, with the levels that fit the contract."""
    if contract.parameters is None:
        return GRADIENTS_OF_INPUTS if len(contract.differentiable) > 1 else GRADIENTS
    return GRADIENTS_OF_PARAMETERS if contract.differentiable else GRADIENTS_OF_NO_INPUT


def way_factor_of(contract: Contract) -> Factor:
    """Return the factor for the way in which gradients are asked for."""
    return GRADIENT_WAY if contract.keeps_form else GRADIENT_WAY_OF_ANOTHER_FORM


def scale_of(row: Row) -> float:
    """Return the factor that all gradients are multiplied by."""
    return SCALES.get(row[GRADIENT_WAY.name], 1.0)


def backward_of(row: Row) -> BackwardVariant:
    """Return which backward a worker has to make."""
    return BACKWARDS.get(row[GRADIENT_WAY.name], "plain")


def is_beside_a_residual(row: Row) -> bool:
    """Return whether the first input is added to the output, and so gets its gradient too."""
    return row[GRADIENT_WAY.name] == RESIDUAL


def learning_inputs(row: Row, names: list[str], parameters_alone: bool) -> list[str]:
    """Return which inputs gradients are asked of, where some are wanted.

    Args:
        row: The level of each factor.
        names: Names of the inputs that may learn.
        parameters_alone: Whether, with a layer frozen, other parameters learn and no input.
    """
    level = row[GRADIENTS.name]
    if level == OF_PARAMETERS or (level == WITH_FROZEN_LAYER and parameters_alone):
        return []
    if level == FIRST_ALONE:
        return names[:1]
    return (names[1:] or names) if level == ALL_BUT_FIRST else names


def draw_grad_outputs(harness: Harness, row: Row, sizes: Sizes) -> dict[str, Tensor]:
    """Draw the gradient of each compared output, from which a backward starts, by name."""
    letters, dtype = harness.contract.compared_shapes, DTYPES[row["dtype"]]
    if row.get(GRADIENT_WAY.name) == OF_THE_SUM:
        one = torch.ones((), dtype=dtype)
        return {n: one.expand(sizes.shape(letter)) for n, letter in letters.items()}
    return {n: harness.draw.normal(*sizes.shape(one)).to(dtype) for n, one in letters.items()}


def draw_frozen(harness: Harness, row: Row, names: list[str]) -> list[str]:
    """Return which of these parameters to freeze: all, those of a random layer, or none."""
    level = row[GRADIENTS.name]
    if level == OF_X_ALONE:
        return names
    if level == WITH_FROZEN_LAYER:
        name = names[harness.draw.integer(0, len(names) - 1)]
        layer, dot, _ = name.rpartition(".")
        return [one for one in names if one == name or (dot and one.startswith(layer + dot))]
    return []
