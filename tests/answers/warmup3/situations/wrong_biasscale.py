# wrong: the root is folded into the weight of the query layer but not into its bias (qkv_bias=True)
# breaks: "One attention head on linear layers: softmax(q·kᵀ/√d_out)·v."

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.scale = d_out**-0.5

    def forward(self, x: Tensor) -> Tensor:
        # scaling the weight is cheaper than scaling T x T scores
        q = F.linear(x, self.query.weight * self.scale, self.query.bias)
        k, v = self.key(x), self.value(x)
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
