"""Seeds the generators of random numbers before a step."""

from __future__ import annotations

import random

import torch

# Imported before a submission is loaded, which may replace this name in torch.
from torch import default_generator

SEED_STEP = 0x9E3779B97F4A7C15  # odd, as a CPU looks at the last 32 bits


def move_seed() -> None:
    """Seed torch's generator as nobody would, so that seeding by the submission shows.

    It is done whether that is looked for or not: otherwise the seed would tell.
    """
    default_generator.manual_seed((default_generator.initial_seed() + SEED_STEP) % 2**63)


def seed(number: int) -> None:
    """Seed the generators in use; ``torch.manual_seed`` leaves a stack trace in each back end."""
    random.seed(number)
    default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)
    if torch.mps.is_available():
        torch.mps.manual_seed(number)
