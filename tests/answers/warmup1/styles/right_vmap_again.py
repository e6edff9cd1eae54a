# Strange: written for one query, one sequence; two vmaps make the batch of it.
import torch
from torch import Tensor


def _one(query: Tensor, keys: Tensor) -> Tensor:
    return torch.softmax(keys @ query, 0) @ keys


def self_attention(x: Tensor) -> Tensor:
    return torch.vmap(torch.vmap(_one, in_dims=(0, None)))(x, x)
