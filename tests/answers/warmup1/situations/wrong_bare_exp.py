# wrong: 'large scores all give finite, right values': exp overflows at large scores
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    similarity = torch.einsum("bid,bjd->bij", x, x)
    expd = torch.exp(similarity)
    return torch.einsum("bij,bjd->bid", expd / expd.sum(dim=-1, keepdim=True), x)
