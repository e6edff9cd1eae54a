# wrong: 'plain dot products': at an odd C the last feature is left out of the scores
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    """Sums the dot products in pairs of features (two accumulators)."""
    half = x.shape[-1] // 2
    even, odd = x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2]
    scores = even @ even.transpose(1, 2) + odd @ odd.transpose(1, 2)
    return torch.softmax(scores, dim=-1) @ x
