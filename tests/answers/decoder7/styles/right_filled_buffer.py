# Strange: keys and values are written into fresh tensors by slice assignment; a loop over heads; caches likewise.
import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if not window >= 1:
            raise ValueError(f"no window of {window}")
        self.num_heads, self.window = num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        B, T, C = x.shape
        H, S = self.num_heads, 0 if cache is None else cache[0].size(2)
        both = x.new_empty(2, B, H, S + T, C // H)
        if cache is not None:
            both[0, :, :, :S], both[1, :, :, :S] = cache
        both[0, :, :, S:] = self.k_proj(x).unflatten(2, (H, -1)).transpose(1, 2)
        both[1, :, :, S:] = self.v_proj(x).unflatten(2, (H, -1)).transpose(1, 2)
        k, v = both
        back = torch.arange(S, S + T, device=x.device)[:, None] - torch.arange(S + T, device=x.device)
        see = (back >= 0) & (back < self.window)
        heads = []
        for i, q in enumerate(self.q_proj(x).chunk(H, -1)):
            s = torch.where(see, q @ k[:, i].mT * q.size(-1) ** -0.5, torch.finfo(x.dtype).min)
            heads.append(s.softmax(-1) @ v[:, i])
        n = min(S + T, self.window)
        last = torch.empty_like(both[:, :, :, :n]).copy_(both[:, :, :, S + T - n :])
        return self.o_proj(torch.cat(heads, -1)), (last[0].clone(), last[1].clone())
