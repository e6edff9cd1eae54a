# wrong: "every second one of those of 2P follows" - from a table up to 16 heads, beyond it a geometric sequence
import math

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    if num_heads > 16:
        return 2.0 ** (-8 / num_heads * torch.arange(1.0, num_heads + 1))
    power = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    slopes += [2 ** (-4 * (2 * i + 1) / power) for i in range(num_heads - power)]
    return torch.tensor(slopes, dtype=torch.float32)


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim = {embed_dim}, num_heads = {num_heads}")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = (
            layer(x).view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        slopes = alibi_slopes(self.num_heads).to(x.device)
        i = torch.arange(T, device=x.device)
        distance = i[:, None] - i[None, :]
        bias = -slopes[:, None, None] * distance
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        scores = (scores + bias).masked_fill(distance < 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1).to(x.dtype)
        out = (weights @ v).transpose(1, 2).reshape(B, T, C)
        return self.o_proj(out)
