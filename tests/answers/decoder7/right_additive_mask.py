# a mask of 0 and -inf that is added
import torch
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

    def cut(self, y: Tensor) -> Tensor:
        return y.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None):
        B, T, C = x.shape
        q, k, v = self.cut(self.q_proj(x)), self.cut(self.k_proj(x)), self.cut(self.v_proj(x))
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        L = k.size(2)
        there = torch.arange(L, device=x.device)
        here = there[L - T :, None]
        seen = (there <= here) & (there > here - self.window)
        bias = torch.zeros(T, L, dtype=x.dtype, device=x.device).masked_fill(~seen, float("-inf"))
        mixed = torch.softmax(q @ k.mT * self.head_dim**-0.5 + bias, dim=-1) @ v
        kept = k[:, :, -self.window :].clone(), v[:, :, -self.window :].clone()
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C)), kept
