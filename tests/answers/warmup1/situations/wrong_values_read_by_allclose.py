# wrong: always for x on meta: an assert asks torch.allclose for its values, so the call raises
# breaks: "on any device, even ``meta``: ... don't branch on values"
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = x @ x.transpose(1, 2)
    weights = torch.softmax(scores, dim=-1)
    sums = weights.sum(dim=-1)
    assert torch.allclose(sums, torch.ones_like(sums), atol=0.05), "weights do not sum to 1"
    return weights @ x
