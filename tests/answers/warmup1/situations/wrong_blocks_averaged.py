# wrong: 'for each query the weights add up to 1' over all keys: above T = 64 blocks of keys are averaged, not merged
import torch
from torch import Tensor

BLOCK = 64


def self_attention(x: Tensor) -> Tensor:
    """Works through the keys in blocks, so the score matrix stays small."""
    parts = []
    for keys in x.split(BLOCK, dim=1):
        weights = torch.softmax(x @ keys.transpose(1, 2), dim=-1)
        parts.append((weights @ keys, keys.shape[1]))
    total = sum(n for _, n in parts)
    return sum(out * (n / total) for out, n in parts)
