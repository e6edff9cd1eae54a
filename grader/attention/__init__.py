"""Everything that a suite about attention imports besides ``grader.suite``.

Each name has an example. In those that are checks of a suite, ``attention`` is
``grader.attention.claims``. What few suites need is imported from the module that defines it:
``from grader.attention.affordable import with_few_scores``.
"""

from grader.attention import claims
from grader.attention.contract import MASK, NO_DROPOUT, AttentionContract, X, causal_mask
from grader.attention.layout import WeightLayout
from grader.attention.oracle import attention_map, merge_heads, split_heads, values_of_heads

__all__ = [
    "MASK",
    "NO_DROPOUT",
    "AttentionContract",
    "WeightLayout",
    "X",
    "attention_map",
    "causal_mask",
    "claims",
    "merge_heads",
    "split_heads",
    "values_of_heads",
]
