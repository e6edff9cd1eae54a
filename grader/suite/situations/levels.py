"""The factors that may make a submission to any contract go wrong, and their levels."""

from __future__ import annotations

from functools import cache
from typing import Any

from torch import Tensor

from grader.suite.contract import Contract
from grader.suite.situations.factors import ABSENT, Factor
from grader.suite.sizes import Sizes

OVERFLOWING = "very large"
ALL_EQUAL = "of equal tokens"
NEAR_ONE_ANOTHER = "of tokens near one another, far from 0"
LONG_LEVELS = ("about 128", "about 256")
LENGTHS = tuple(f"about {2**n}" for n in range(4, 9))
T = Factor("T", ("1", "2", "small", "any", *LENGTHS))
OTHER_LENGTH = Factor("S", ("1", "2", "small", "as T", "any", "about 64", "about 128"))
OTHER_WIDTH = Factor("E", ("1", "small", "as C", "odd", "large"))
BATCH = Factor("B", ("1", "2", "more"))
BATCH_OR_NOT = Factor("B", ("none", "1", "2", "more"))
WIDTH = Factor("width", ("1", "small", "odd", "even", "square", "large"))
# How many parts features are cut into, and how many groups these form.
PARTS = Factor("H", ("one", "several", "as many as features"))
GROUPS = Factor("groups", ("one", "several", "as many as H"))
OWN_LETTER_LEVELS = ("1", "2", "small", "any")
# Of a letter that no input has: nobody knows what a large one costs, of layers, say.
ARGUMENT_LEVELS = OWN_LETTER_LEVELS[:-1]

ORDINARY = "ordinary"
KINDS = (
    ORDINARY, "with a constant token", "with a token of zeros", ALL_EQUAL, "of zeros",
    OVERFLOWING, "with a token far above the rest", "very small", NEAR_ONE_ANOTHER,
)  # fmt: skip
# Levels of an input of several tokens that hide how these are weighted.
FLAT = (ALL_EQUAL, "of zeros", "very small", NEAR_ONE_ANOTHER)
LAYOUTS = ("contiguous", "transposed", "strided", "expanded", "a part")
LEFT_OUT = "left out"
GIVEN_LEVELS = (LEFT_OUT, "by position", "by name")

DTYPE = Factor("dtype", ("float32", "float64", "bfloat16"))
DROPPING_NOTHING = "training, dropping nothing"
EVALUATION = "evaluation"
MODE = Factor("mode", (EVALUATION, DROPPING_NOTHING))
NO_GRADIENTS = ("under no_grad", "under no_grad, of an x that learns", "in inference mode")
INNER = "through another layer"
GRADIENTS = Factor("gradients", ("wanted", INNER, *NO_GRADIENTS))
FIRST_ALONE, ALL_BUT_FIRST = "of the first input alone", "of all inputs but the first"
GRADIENTS_OF_INPUTS = Factor("gradients", (*GRADIENTS.levels, FIRST_ALONE, ALL_BUT_FIRST))
OF_PARAMETERS = "of the parameters alone"
GRADIENTS_OF_PARAMETERS = Factor(
    "gradients",
    (*GRADIENTS.levels, OF_PARAMETERS, "of x alone", "with a layer frozen"),
)
RESIDUAL = "beside a residual"
GRADIENTS_OF_NO_INPUT = Factor(
    "gradients",
    ("wanted", "with a layer frozen", "under no_grad", "in inference mode"),
)
GRADIENT_WAY = Factor(
    "gradients asked for",
    (
        ABSENT, "as usual", "of the transposed output", "into .grad", "a second time",
        "times 65536", "times 1e-6", RESIDUAL,
    ),
)  # fmt: skip
GRADIENT_WAY_OF_ANOTHER_FORM = Factor(GRADIENT_WAY.name, GRADIENT_WAY.levels[:-1])
OF_THE_SUM = "of the sum"  # each number's gradient is 1, and all of them one in memory
WEIGHTS = Factor("weights", ("as drawn", "small", "large", "with biases of zero"))
WEIGHTS_OF_KINKS = Factor(WEIGHTS.name, WEIGHTS.levels[:-1])  # biases of zero may lie at a kink
AFTER_ANOTHER_INPUT, AFTER_A_STEP = "after another input", "after a training step"
FILLED_ANEW = "in the same tensor, filled anew"
HISTORIES_WITH_OTHER_WEIGHTS = ("after other weights", "loaded from a state")
HISTORY = Factor(
    "history",
    (
        "first call", AFTER_ANOTHER_INPUT, "before another input", AFTER_A_STEP,
        "after another dtype", FILLED_ANEW, *HISTORIES_WITH_OTHER_WEIGHTS,
    ),
)  # fmt: skip
HISTORY_OF_FUNCTIONS = Factor(
    HISTORY.name,
    ("first call", AFTER_ANOTHER_INPUT, "before another input", FILLED_ANEW),
)


def x_like_inputs(contract: Contract) -> list[str]:
    """Return the names of inputs such as x: drawn, with gradients, and with no ``kinds`` set."""
    return [
        name
        for name, given in contract.inputs.items()
        if given.differentiable and not (given.handed_on or given.kinds)
    ]


def first_x_like_input(contract: Contract) -> str:
    """Return the first of ``x_like_inputs``: an input with gradients, such as x; empty if none."""
    return next(iter(x_like_inputs(contract)), "")


@cache  # each situation asks for it
def own_letters(contract: Contract) -> dict[str, tuple[str, ...]]:
    """Return the levels of each size letter that no other factor and no other letter determines.

    Such a letter stands in the shape of an input, or changes an argument (a rank, say).
    """
    sizes = contract.sizes[0]
    others = {*"TSBCD", *("EHG" if "C" in sizes else "HG" if "D" in sizes else "")}
    shapes = " ".join(given.shape for given in contract.inputs.values()).split()
    of_inputs = [letter for letter in dict.fromkeys(shapes) if letter in sizes]
    of_arguments = [one for one in sizes if one not in shapes and _changes_arguments(contract, one)]
    levels = {
        **dict.fromkeys(of_inputs, OWN_LETTER_LEVELS),
        **dict.fromkeys(of_arguments, ARGUMENT_LEVELS),
    }
    cases = (contract, *contract.variants.values())
    return {
        letter: some
        for letter, some in levels.items()
        if letter not in others and all(_is_free(one, letter) for one in cases)
    }


def _changes_arguments(contract: Contract, letter: str) -> bool:
    sizes = contract.sizes[0]
    one, other = map(contract.arguments, (sizes, _larger(sizes, letter)))
    return _comparable(one) != _comparable(other)


def _comparable(arguments: dict[str, Any]) -> dict[str, Any]:
    return {n: one.tolist() if isinstance(one, Tensor) else one for n, one in arguments.items()}


def _is_free(contract: Contract, letter: str) -> bool:
    other = _larger(contract.sizes[0], letter)
    return contract.derived(contract.fit(other))[letter] == other[letter]


def _larger(sizes: Sizes, letter: str) -> Sizes:
    return sizes.replace(**{letter: sizes[letter] + 2})


def layout_factor_name(name: str) -> str:
    """Return the name of the factor for an input's layout in memory, such as ``transposed``."""
    return f"layout of {name}"


def given_factor_name(name: str) -> str:
    """Return the name of the factor for how an optional input is passed."""
    return f"{name} given"


def first_part(contract: Contract, name: str) -> str:
    """Return the first part of an input's argument; its level says how all parts are passed."""
    return contract.parts_of(contract.whole_of(name))[0]


def form_factor_name(name: str) -> str:
    """Return the name of the factor for the form, such as a dtype, that an input is written in."""
    return f"{name} as"


def general_factors(contract: Contract, mode: Factor = MODE) -> list[Factor]:
    """Return the factors that apply to any contract; ``mode`` is the factor of a module's mode."""
    letters = contract.sizes[0]
    found = [one for one in (T, OTHER_LENGTH) if one.name in letters]
    if "B" in letters:
        found.append(BATCH_OR_NOT if contract.unbatched else BATCH)
    has_width = "C" in letters or "D" in letters
    if has_width:
        found.append(WIDTH)
    found += [Factor(letter, levels) for letter, levels in own_letters(contract).items()]
    for name in x_like_inputs(contract):
        kinds = (ORDINARY,) if contract.inputs[name].confined else KINDS
        found += [Factor(name, kinds), Factor(layout_factor_name(name), LAYOUTS)]
    found += [DTYPE, GRADIENT_WAY if contract.keeps_form else GRADIENT_WAY_OF_ANOTHER_FORM]
    if has_width and any(sizes.get("H", 1) > 1 for sizes in contract.sizes):
        found.append(PARTS)
    if has_width and "G" in letters:
        found.append(GROUPS)
    if contract.parameters is None:
        are_several = len(contract.differentiable) > 1
        return [*found, GRADIENTS_OF_INPUTS if are_several else GRADIENTS, HISTORY_OF_FUNCTIONS]
    weights = WEIGHTS if contract.kinks is None else WEIGHTS_OF_KINKS
    gradients = GRADIENTS_OF_PARAMETERS if contract.differentiable else GRADIENTS_OF_NO_INPUT
    return [*found, gradients, weights, mode, HISTORY]
