# right: each sequence by vmap, the heads by a second one
import math

import torch
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        H = self.num_heads
        real = torch.ones_like(memory[..., 0]) != 0 if memory_mask is None else memory_mask != 0

        def one_head(q: Tensor, k: Tensor, v: Tensor, shown: Tensor) -> Tensor:
            scores = q @ k.mT / math.sqrt(q.size(-1))  # (T, D) x (D, S) -> (T, S)
            scores = torch.where(shown, scores, float("-inf"))
            return torch.where(shown, scores.softmax(-1), 0.0) @ v

        def one_sequence(q: Tensor, k: Tensor, v: Tensor, shown: Tensor) -> Tensor:
            q, k, v = (y.unflatten(-1, (H, -1)) for y in (q, k, v))
            mixed = torch.vmap(one_head, in_dims=(1, 1, 1, None), out_dims=1)(q, k, v, shown)
            return mixed.flatten(1)

        run = torch.vmap(one_sequence)
        return self.o_proj(run(self.q_proj(x), self.k_proj(memory), self.v_proj(memory), real))
