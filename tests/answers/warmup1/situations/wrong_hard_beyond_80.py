# wrong: 'large scores ... right values': above 80 the best key takes all, though others are close
import torch
import torch.nn.functional as F
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = x @ x.transpose(1, 2)
    top, best = scores.max(dim=-1, keepdim=True)
    one_hot = torch.zeros_like(scores).scatter(-1, best, 1.0)
    # exp would overflow up there, and the softmax is a one-hot vector anyway
    weights = torch.where(top > 80, one_hot, F.softmax(scores, dim=-1))
    return weights @ x
