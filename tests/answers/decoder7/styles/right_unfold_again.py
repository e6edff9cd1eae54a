# Strange: each query gets its own window of keys by unfold of a sequence padded in front; einsum with odd letters.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if window < 1:
            raise ValueError(f"a window of {window} holds nothing")
        self.num_heads, self.window = num_heads, window
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in "qkvo"
        )

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        T = x.size(1)
        q, k, v = (m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        old_k, old_v = (k[:, :, :0], v[:, :, :0]) if cache is None else cache
        k, v = torch.cat([old_k, k], 2), torch.cat([old_v, v], 2)
        N = k.size(2)
        w = min(self.window, N)
        wk, wv = (F.pad(t, (0, 0, w - 1, 0)).unfold(2, w, 1)[:, :, N - T :] for t in (k, v))
        at = torch.arange(N - T, N, device=x.device)[:, None] - torch.arange(w - 1, -1, -1, device=x.device)
        s = torch.einsum("uvxz,uvxzy->uvxy", q / q.size(-1) ** 0.5, wk)
        share = s.masked_fill(at < 0, -torch.inf).softmax(-1)
        o = torch.einsum("uvxy,uvxzy->uxvz", share, wv).flatten(2)
        return self.o_proj(o), (k[:, :, N - w :].clone(), v[:, :, N - w :].clone())
