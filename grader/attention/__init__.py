"""Everything that a suite about attention imports besides ``grader.suite``."""

from grader.attention import claims
from grader.attention.affordable import with_few_scores
from grader.attention.contract import MASK, NO_DROPOUT, AttentionContract, X, causal_mask
from grader.attention.layout import WeightLayout
from grader.attention.maps import recover_attention
from grader.attention.oracle import (
    angles_left_to_rounding,
    attention_map,
    merge_heads,
    multi_head,
    split_heads,
    values_of_heads,
)
from grader.attention.situations.masks import mask_forms

__all__ = [
    "MASK",
    "NO_DROPOUT",
    "AttentionContract",
    "WeightLayout",
    "X",
    "angles_left_to_rounding",
    "attention_map",
    "causal_mask",
    "claims",
    "mask_forms",
    "merge_heads",
    "multi_head",
    "recover_attention",
    "split_heads",
    "values_of_heads",
    "with_few_scores",
]
