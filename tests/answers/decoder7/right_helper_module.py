# a class of its own for the cache, which cuts before it joins
import torch
from torch import Tensor, nn


class Rolling:
    def __init__(self, window: int, keys: Tensor, values: Tensor) -> None:
        self.window, self.held = window, (keys, values)

    def in_sight(self, *new: Tensor) -> list[Tensor]:
        """New ones behind those that the first of them still sees."""
        start = max(0, self.held[0].size(2) - self.window + 1)
        return [torch.cat([old[:, :, start:], one], 2) for old, one in zip(self.held, new)]

    def after(self, *new: Tensor) -> tuple[Tensor, ...]:
        """The last of a window; of many new ones, these alone."""
        few = max(0, self.window - new[0].size(2))
        return tuple(
            torch.cat([old[:, :, max(0, old.size(2) - few) :], one[:, :, -self.window :]], 2)
            for old, one in zip(self.held, new)
        )


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
        cut = (B, T, self.heads, self.head_dim)
        q, k, v = (
            layer(x).view(cut).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        old = Rolling(self.window, *(cache or (k[:, :, :0], v[:, :, :0])))
        kept = old.after(k, v)
        k, v = old.in_sight(k, v)
        L = k.size(2)
        hidden = torch.full((T, L), True, device=x.device).triu(L - T + 1)
        hidden |= torch.full((T, L), True, device=x.device).tril(L - T - self.window)
        mixed = (q @ k.mT / self.head_dim**0.5).masked_fill(hidden, -torch.inf).softmax(-1) @ v
        return self.o_proj(mixed.transpose(1, 2).reshape(x.shape)), kept
