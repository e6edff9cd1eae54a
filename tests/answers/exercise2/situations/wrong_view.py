# wrong: x.view crashes (a non-contiguous x whose batch and length axes do not merge: transposed, or a window x[:, :t] with B > 1)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x`` and every parameter."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        qkv = self.proj(x.view(B * T, C)).view(B, T, 3 * C)
        q, k, v = qkv.split(C, dim=-1)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(C)
        return torch.bmm(torch.softmax(scores, dim=-1), v)
