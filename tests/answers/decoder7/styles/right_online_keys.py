# Strange: an online softmax over blocks of 50 keys in a wide dtype, the cache first.
import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if window < 1:
            raise ValueError(f"window is {window}")
        self.num_heads, self.window = num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        past = 0 if cache is None else cache[0].size(2)
        if cache is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(cache, (k, v)))
        q = q.to(wide) * q.size(-1) ** -0.5
        at = torch.arange(k.size(2), device=x.device)
        m = torch.full_like(q[..., :1], torch.finfo(wide).min)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for kb, vb, ab in zip(k.split(50, 2), v.split(50, 2), at.split(50)):
            back = at[past:, None] - ab
            s = (q @ kb.to(wide).mT).masked_fill((back < 0) | (back >= self.window), -torch.inf)
            top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            c, p = (m - top).exp(), (s - top).exp()
            z, o, m = z * c + p.sum(-1, keepdim=True), o * c + p @ vb.to(wide), top
        out = self.o_proj((o / z).transpose(1, 2).flatten(2).to(x.dtype))
        return out, tuple(t[:, :, -self.window :].clone() for t in (k, v))
