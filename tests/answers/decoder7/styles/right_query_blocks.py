# Strange: blocks of 32 queries meet the slice of keys that their windows cover; no (T, N) tensor is made.
import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{num_heads=} does not divide {embed_dim=}")
        if window <= 0:
            raise ValueError(f"{window=} is less than 1")
        self.num_heads = num_heads
        self.window = window
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        split = lambda y: torch.stack(y.chunk(self.num_heads, -1), 1)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        past = 0
        match cache:
            case (old_k, old_v):
                past = old_k.size(2)
                k, v = torch.cat([old_k, k], 2), torch.cat([old_v, v], 2)
        q = q * q.size(-1) ** -0.5
        at = torch.arange(k.size(2), device=x.device)
        rows = []
        for a in range(past, k.size(2), 32):
            b = min(a + 32, k.size(2))
            first = max(0, a - self.window + 1)
            back = at[a:b, None] - at[first:b]
            s = q[:, :, a - past : b - past] @ k[:, :, first:b].mT
            s = torch.where((back >= 0) & (back < self.window), s, -torch.inf)
            rows.append(s.softmax(-1) @ v[:, :, first:b])
        out = torch.cat(torch.cat(rows, 2).unbind(1), -1)
        start = max(0, k.size(2) - self.window)
        return self.o_proj(out), (k[:, :, start:].clone(), v[:, :, start:].clone())
