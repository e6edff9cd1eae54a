"""The steps of attention in their order, each with its right way and the known wrong ones."""

from grader.attention.steps import block, heads, live, masks, mixing, projection, scores, weighing
from grader.attention.steps.state import CHOICES, SETTLED_STEPS, STEPS, State

__all__ = [
    "CHOICES",
    "SETTLED_STEPS",
    "STEPS",
    "State",
    "block",
    "heads",
    "live",
    "masks",
    "mixing",
    "projection",
    "scores",
    "weighing",
]
