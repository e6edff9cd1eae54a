"""The factors that may make a submission to any contract go wrong, and their levels."""

from __future__ import annotations

from functools import partial
from typing import Any

from grader.suite.contract import Contract
from grader.suite.situations.factors import NONE, Factor, Model, Row, Rule, Wish

OVERFLOWING = "very large"
ALL_EQUAL = "of equal tokens"
LONG = ("about 128", "about 256")
LENGTHS = tuple(f"about {2**n}" for n in range(4, 9))
T = Factor("T", ("1", "2", "small", "any", *LENGTHS))
OTHER_LENGTH = Factor("S", ("1", "2", "small", "as T", "any", "about 64", "about 128"))
OTHER_WIDTH = Factor("E", ("1", "small", "as C", "odd", "large"))
BATCH = Factor("B", ("1", "2", "more"))
BATCH_OR_NOT = Factor("B", ("none", "1", "2", "more"))
WIDTH = Factor("width", ("1", "small", "odd", "even", "square", "large"))
HEADS = Factor("heads", ("one", "several", "as many as features"))
GROUPS = Factor("groups", ("one", "several", "as many as heads"))
OF_OTHER_FACTORS = "TSBCDEHG"  # size letters; a contract's other letters are factors themselves
OF_OWN_LETTER = ("1", "2", "small", "any")

ORDINARY = "ordinary"
KINDS = (
    ORDINARY, "with a constant token", "with a token of zeros", ALL_EQUAL, "of zeros",
    OVERFLOWING, "with a token far above the rest", "very small",
    "of tokens near one another, far from 0",
)  # fmt: skip
LAYOUTS = ("contiguous", "transposed", "strided", "expanded", "a part")
LEFT_OUT = "left out"
GIVEN = (LEFT_OUT, "by position", "by name")

DTYPE = Factor("dtype", ("float32", "float64", "bfloat16"))
STILL = "training, dropping nothing"
EVALUATION = "evaluation"
MODE = Factor("mode", (EVALUATION, STILL))
NO_GRADIENTS = ("under no_grad", "under no_grad, of an x that learns", "in inference mode")
GRADIENTS = Factor("gradients", ("wanted", "through another layer", *NO_GRADIENTS))
GRADIENTS_OF_PARAMETERS = Factor(
    "gradients",
    (*GRADIENTS.levels, "of the parameters alone", "of x alone", "with a layer frozen"),
)
RESIDUAL = "beside a residual"
GRADIENTS_OF_NO_INPUT = Factor(
    "gradients",
    ("wanted", "with a layer frozen", "under no_grad", "in inference mode"),
)
WAY = Factor(
    "gradients asked for",
    (
        NONE, "as usual", "of the transposed output", "into .grad", "a second time",
        "times 65536", "times 1e-6", RESIDUAL,
    ),
)  # fmt: skip
WAY_OF_ANOTHER_FORM = Factor(WAY.name, WAY.levels[:-1])
WEIGHTS = Factor("weights", ("as drawn", "small", "large", "with biases of zero"))
WEIGHTS_OF_KINKS = Factor(WEIGHTS.name, WEIGHTS.levels[:-1])  # biases of zero may lie at a kink
ANOTHER_INPUT = "after another input"
ANOTHER_LIFE = ("after other weights", "loaded from a state")
HISTORY = Factor(
    "history",
    (
        "first call", ANOTHER_INPUT, "before another input", "after a training step",
        "after another dtype", "in the same tensor, filled anew", *ANOTHER_LIFE,
    ),
)  # fmt: skip
HISTORY_OF_FUNCTIONS = Factor(
    HISTORY.name,
    ("first call", ANOTHER_INPUT, "before another input", "in the same tensor, filled anew"),
)


def like(contract: Contract) -> list[str]:
    """Return the names of inputs such as x: drawn, with gradients, and with no ``kinds`` set."""
    return [
        name
        for name, given in contract.inputs.items()
        if given.differentiable and not (given.handed_on or given.kinds)
    ]


def first_of(contract: Contract) -> str:
    """Return the first name in ``like``, of an input with gradients such as x; empty if none."""
    return next(iter(like(contract)), "")


def own_letters(contract: Contract) -> list[str]:
    """Return the size letters of inputs that no other factor and no other letter determines."""
    sizes = contract.sizes[0]
    shapes = " ".join(given.shape for given in contract.inputs.values())
    there = [word for word in dict.fromkeys(shapes.split()) if word in sizes]
    own = [letter for letter in there if letter not in OF_OTHER_FACTORS]
    return [one for one in own if _is_free(contract, one)]


def _is_free(contract: Contract, letter: str) -> bool:
    other = contract.sizes[0].replace(**{letter: contract.sizes[0][letter] + 2})
    return contract.derived(contract.fit(other))[letter] == other[letter]


def layout_of(name: str) -> str:
    """Return the name of the factor for an input's layout in memory, such as ``transposed``."""
    return f"layout of {name}"


def given_of(name: str) -> str:
    """Return the name of the factor for how an optional input is passed."""
    return f"{name} given"


def leading(contract: Contract, name: str) -> str:
    """Return the first part of an input's argument; its level says how all parts are passed."""
    return contract.parts_of(contract.whole_of(name))[0]


def form_of(name: str) -> str:
    """Return the name of the factor for the form, such as a dtype, that an input is written in."""
    return f"{name} as"


def general_factors(contract: Contract, mode: Factor = MODE) -> list[Factor]:
    """Return the factors that apply to any contract; ``mode`` is the factor of a module's mode."""
    letters = contract.sizes[0]
    found = [one for one in (T, OTHER_LENGTH) if one.name in letters]
    if "B" in letters:
        found.append(BATCH_OR_NOT if contract.unbatched else BATCH)
    if "C" in letters or "D" in letters:
        found.append(WIDTH)
    found += [Factor(letter, OF_OWN_LETTER) for letter in own_letters(contract)]
    for name in like(contract):
        kinds = (ORDINARY,) if contract.inputs[name].confined else KINDS
        found += [Factor(name, kinds), Factor(layout_of(name), LAYOUTS)]
    found += [DTYPE, WAY if contract.keeps_form else WAY_OF_ANOTHER_FORM]
    if any(sizes.get("H", 1) > 1 for sizes in contract.sizes):
        found.append(HEADS)
    if "G" in letters:
        found.append(GROUPS)
    if contract.parameters is None:
        return [*found, GRADIENTS, HISTORY_OF_FUNCTIONS]
    weights = WEIGHTS if contract.kinks is None else WEIGHTS_OF_KINKS
    gradients = GRADIENTS_OF_PARAMETERS if contract.differentiable else GRADIENTS_OF_NO_INPUT
    return [*found, gradients, weights, mode, HISTORY]


def model_of(contract: Contract) -> Model:
    """Return factors, rules and wishes for situations of a contract of no particular kind."""
    found = general_factors(contract)
    more, rules = of_variants(contract)
    if "C" in contract.sizes[0] and "E" in contract.sizes[0]:
        found.append(OTHER_WIDTH)
    for name, given in contract.inputs.items():
        may_lack, first = name in contract.optional, leading(contract, name)
        if given.kinds:
            found.append(Factor(name, (*((NONE,) if may_lack else ()), *given.kinds)))
        if given.forms:
            found.append(Factor(form_of(name), tuple(given.forms)))
        if may_lack and name == first:
            found.append(Factor(given_of(name), GIVEN))
        if given.kinds and may_lack:
            rules.append(((name, given_of(first)), partial(_is_of_a_kind_or_not, name, first)))
    return Model((*found, *more), (*RULES, *rules), DELICATE, wishes(first_of(contract)))


def _is_of_a_kind_or_not(name: str, first: str, row: Row) -> bool:
    return (row[name] == NONE) == (row[given_of(first)] == LEFT_OUT)


def of_variants(contract: Contract) -> tuple[list[Factor], list[Rule]]:
    """Return a factor for the contract's variants, with its rules; empty lists for no variants."""
    if not contract.variants:
        return [], []
    factor = Factor("arguments", tuple(contract.variants))
    return [factor], [(("arguments", "B"), partial(_takes_a_batch, contract))]


def _takes_a_batch(contract: Any, row: Row) -> bool:
    return row["B"] == "none" or contract.variants[row["arguments"]].sizes[0].B > 0


# Triples of factors of which every three levels meet, not only every two.
DELICATE = ((MODE.name, GRADIENTS.name, DTYPE.name),)


def is_long(row: Row) -> bool:
    """Return whether a row has so many positions that the computation grows large."""
    return row.get("T") in LONG or row.get("S") in LONG


def _is_rounded(row: Row) -> bool:
    return row["dtype"] == "bfloat16" and not is_long(row)


def wishes(x: str) -> tuple[Wish, ...]:
    """Return the levels preferred where any would do: cheap for long sequences, else usual ones.

    Args:
        x: Name of the first input that gradients are asked of; a factor has the same name.
    """
    return (
        (GRADIENTS.name, NO_GRADIENTS[0], is_long),
        (HISTORY.name, "first call", is_long),
        ("B", "1", is_long),
        (WIDTH.name, "small", is_long),
        ("B", "2", lambda row: not is_long(row)),
        # In bfloat16, gradients tell something only where all else is ordinary.
        (x, ORDINARY, _is_rounded),
        (WEIGHTS.name, "as drawn", _is_rounded),
        (GRADIENTS.name, "wanted", lambda row: _is_rounded(row) and row[WAY.name] != NONE),
        (DTYPE.name, "float32", lambda row: row.get(x) != ORDINARY),
        (x, ORDINARY, lambda row: True),
        (WIDTH.name, "small", lambda row: row["width"] in ("1", "large")),
        (HEADS.name, "several", lambda row: row["heads"] == "one"),
    )


# Rules about levels that cannot meet; each tells for its factors whether a row's levels can.
RULES: tuple[Rule, ...] = (
    # There is a way to ask for gradients exactly where gradients are wanted.
    (
        (GRADIENTS.name, WAY.name),
        lambda row: (row["gradients"] in NO_GRADIENTS) == (row[WAY.name] == NONE),
    ),
    # A residual also passes its gradient to x, so gradients cannot be of the parameters alone.
    (
        (GRADIENTS.name, WAY.name),
        lambda row: row[WAY.name] != RESIDUAL or row["gradients"] != "of the parameters alone",
    ),
    # A situation both long and wide takes too long, and shows no more than either alone.
    (("T", "width"), lambda row: row["T"] not in LONG or row["width"] != "large"),
    (("S", "width"), lambda row: row["S"] not in LONG or row["width"] != "large"),
    (("T", "S"), lambda row: row["T"] not in LONG or row["S"] not in LONG),
)
