# unusual: written for one sequence, and vmapped over the batch
import torch
from torch.func import vmap


def _one_sequence(x):
    return torch.softmax(x @ x.T, dim=-1) @ x


def self_attention(x: torch.Tensor) -> torch.Tensor:
    """Attention of every sequence of the batch."""
    return vmap(_one_sequence)(x)
