# Strange: the attention is recomputed in the backward pass by torch.utils.checkpoint.
import math

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, qkv_bias)
        self.key = nn.Linear(d_in, d_out, qkv_bias)
        self.value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        return checkpoint(attend, q, k, v, use_reentrant=False, preserve_rng_state=False)
