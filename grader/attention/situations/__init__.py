"""The situations of attention, which vary more than those of other contracts."""

from grader.attention.situations.extremes import with_extremes
from grader.attention.situations.filling import fill
from grader.attention.situations.masks import (
    MASK_DTYPE,
    MASK_GIVEN,
    MASK_PATTERN,
    MASK_SHAPE,
    MASK_VALUES,
)
from grader.attention.situations.modelling import model_of
from grader.attention.situations.trying import AttentionSituationRun
from grader.suite.situations.judging import FurtherClaims
from grader.suite.situations.outcomes import SituationLike
from grader.suite.situations.places import SituationKind

DTYPE_CLAIMS = ("mask_dtypes_mean_the_same",)


def _is_masked(one: SituationLike) -> bool:
    return one.row.get(MASK_SHAPE.name, "none") != "none"


# They also vary masks, dropout, and which method is called.
ATTENTION_SITUATIONS = SituationKind(
    lambda contract: with_extremes(contract, model_of(contract)),
    fill,
    AttentionSituationRun,
    FurtherClaims(
        by_factor={
            MASK_SHAPE.name: lambda failed: ("mask_broadcasts",),
            MASK_PATTERN.name: lambda failed: ("matches_the_formula_under_a_mask",),
            **dict.fromkeys(
                (MASK_DTYPE.name, MASK_VALUES.name, MASK_GIVEN.name), lambda failed: DTYPE_CLAIMS
            ),
            "x": lambda failed: ("large_scores_stay_finite",),
        },
        applies_to=dict.fromkeys(("mask_broadcasts", *DTYPE_CLAIMS), _is_masked),
    ),
)
