# Strange: the band is an additive mask of tril and triu; the caches are made by index_select.
import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if window < 1:
            raise ValueError(f"window {window}")
        self.num_heads, self.window = num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        T = x.size(1)
        q, k, v = (m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        N = k.size(2)
        S, reach = N - T, min(self.window, N)
        band = torch.ones(T, N, dtype=torch.bool, device=x.device).tril(S).triu(S - reach + 1)
        s = q @ k.mT / k.size(-1) ** 0.5
        o = s.masked_fill(~band, -torch.inf).softmax(-1) @ v
        last = torch.arange(N - reach, N, device=x.device)
        return self.o_proj(o.transpose(1, 2).flatten(2)), (k.index_select(2, last), v.index_select(2, last))
