# right: einsum and the exponential of log_softmax
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    log_w = torch.einsum("bqc,bkc->bqk", x, x).log_softmax(dim=-1)
    return torch.einsum("bqk,bkc->bqc", log_w.exp(), x)
