# Strange: scores for the cache and for the new tokens are made apart and joined for one softmax; vmap over heads.
import torch
from torch import Tensor, nn


def _head(q: Tensor, old_k: Tensor, old_v: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
    s = torch.cat([q @ old_k.mT, q @ k.mT], -1) / q.size(-1) ** 0.5
    w = s.masked_fill(hidden, torch.finfo(s.dtype).min).softmax(-1)
    S = old_k.size(-2)
    return torch.cat([w[..., :S], w[..., S:]], -1) @ torch.cat([old_v, v], -2)


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if window < 1:
            raise ValueError(f"window {window} < 1")
        self.num_heads, self.window = num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        q, k, v = (m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        old_k, old_v = cache or (k.new_empty(*k.shape[:2], 0, k.size(3)), v.new_empty(*v.shape[:2], 0, v.size(3)))
        S, T = old_k.size(2), k.size(2)
        new = torch.arange(T, device=x.device)[:, None]
        there = torch.arange(-S, T, device=x.device)
        hidden = (there > new) | (there <= new - self.window)
        o = torch.vmap(_head, in_dims=(1, 1, 1, 1, 1, None), out_dims=1)(q, old_k, old_v, k, v, hidden)
        drop = max(0, S + T - self.window)
        fresh = tuple(torch.cat([old[:, :, drop:], now[:, :, max(0, drop - S) :]], 2) for old, now in ((old_k, k), (old_v, v)))
        return self.o_proj(o.transpose(1, 2).flatten(2)), fresh
