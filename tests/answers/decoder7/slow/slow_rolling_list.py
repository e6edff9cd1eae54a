"""A rolling Python list of keys and one of values; each token appends, pops and sums with sum()."""

import math

import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} features do not go into {num_heads} heads evenly")
        if window < 1:
            raise ValueError(f"window is {window}, but a token must see at least itself")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.window = window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        B, T, C = x.shape
        H, D = self.num_heads, self.head_dim
        q = self.q_proj(x).reshape(B, T, H, D)
        k = self.k_proj(x).reshape(B, T, H, D)
        v = self.v_proj(x).reshape(B, T, H, D)

        keys, values = [], []  # (B, H, D) each, as they go into the next cache
        if cache is not None:
            keys = list(cache[0].unbind(2))
            values = list(cache[1].unbind(2))
        # the same in float64, so that huge numbers outside the window do no harm
        wide_keys = [key.double() for key in keys]
        wide_values = [value.double() for value in values]

        rows = []
        for t in range(T):
            keys.append(k[:, t])
            values.append(v[:, t])
            wide_keys.append(k[:, t].double())
            wide_values.append(v[:, t].double())
            while len(keys) > self.window:
                keys.pop(0)
                values.pop(0)
                wide_keys.pop(0)
                wide_values.pop(0)
            query = q[:, t].double()
            scores = [(query * key).sum(-1, keepdim=True) / math.sqrt(D) for key in wide_keys]
            top = scores[0].detach()
            for score in scores[1:]:
                top = torch.maximum(top, score.detach())
            exps = [torch.exp(score - top) for score in scores]
            total = sum(exps)
            mix = sum(exp / total * value for exp, value in zip(exps, wide_values))
            rows.append(mix.reshape(B, C).to(x.dtype))

        out = self.o_proj(torch.stack(rows, dim=1))
        return out, (torch.stack(keys, dim=2), torch.stack(values, dim=2))
