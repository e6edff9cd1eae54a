# wrong: each block of 64 queries sees only the keys up to the end of its block (T > 64)
# breaks: "Let each position attend to every position of its own sequence."

import math

import torch
from torch import Tensor, nn

BLOCK = 64


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        out = []
        for start in range(0, x.shape[1], BLOCK):
            end = start + BLOCK
            scores = q[:, start:end] @ k[:, :end].transpose(1, 2)
            weights = torch.softmax(scores / math.sqrt(self.hidden_dim), dim=-1)
            out.append(weights @ v[:, :end])
        return torch.cat(out, dim=1)
