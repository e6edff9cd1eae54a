# wrong: a single sequence has no window
from math import sqrt

import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        if window < 1:
            raise ValueError(f"window = {window} is less than 1")
        self.num_heads = num_heads
        self.window = window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None):
        B, T, C = x.shape
        H, D, W = self.num_heads, C // self.num_heads, self.window
        q = self.q_proj(x).view(B, T, H, D).transpose(1, 2)
        k = self.k_proj(x).view(B, T, H, D).transpose(1, 2)
        v = self.v_proj(x).view(B, T, H, D).transpose(1, 2)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        L = k.size(2)
        places = torch.arange(L, device=x.device)
        distance = places[L - T :, None] - places
        hidden = (distance < 0) | (distance >= W) & (B > 1)
        scores = q @ k.mT / sqrt(D)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        mixed = weights @ v
        kept = k[:, :, -W:].clone(), v[:, :, -W:].clone()
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C)), kept
