# one product for queries, keys and values; one tensor for the cache
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        if window < 1:
            raise ValueError(f"a window of {window} tokens is too small")
        self.heads, self.head_dim, self.window = num_heads, embed_dim // num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None):
        B, T, C = x.shape
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        qkv = F.linear(x, weight).view(B, T, 3, self.heads, self.head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        kv = torch.stack([k, v])
        if cache is not None:
            kv = torch.cat([torch.stack(cache), kv], dim=3)
        L = kv.size(3)
        ages = torch.arange(L - T, L, device=x.device)[:, None] - torch.arange(L, device=x.device)
        scores = q @ kv[0].mT / self.head_dim**0.5
        scores = scores.masked_fill((ages < 0).logical_or(ages >= self.window), -torch.inf)
        mixed = scores.softmax(-1) @ kv[1]
        kept = kv[:, :, :, max(0, L - self.window) :].contiguous()
        if L > self.window:
            kept = kept.clone()
        return self.o_proj(mixed.transpose(1, 2).flatten(2)), (kept[0], kept[1])
