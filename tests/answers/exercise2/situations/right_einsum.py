# right: einsum from the raw weight, no call of the layer
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        w = self.proj.weight.unflatten(0, (3, -1))
        b = self.proj.bias.unflatten(0, (3, -1))
        qkv = torch.einsum("btc,ndc->nbtd", x, w) + b[:, None, None]
        a = torch.einsum("bid,bjd->bij", qkv[0], qkv[1]) / self.hidden_dim**0.5
        return torch.einsum("bij,bjd->bid", a.softmax(2), qkv[2])
