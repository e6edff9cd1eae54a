# right: blocks of queries, each with the keys that one of them sees
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
        S, rows = L - T, []
        for start in range(0, T, 16):
            end = min(T, start + 16)
            first = max(0, S + start - self.window + 1)
            keys, values = k[:, :, first : S + end], v[:, :, first : S + end]
            age = torch.arange(S + start, S + end, device=x.device)[:, None]
            age = age - torch.arange(first, S + end, device=x.device)
            scores = q[:, :, start:end] @ keys.mT / self.head_dim**0.5
            scores = scores.masked_fill((age < 0) | (age >= self.window), float("-inf"))
            rows.append(scores.softmax(-1) @ values)
        mixed = torch.cat(rows, dim=2)
        kept = k[:, :, -self.window :].clone(), v[:, :, -self.window :].clone()
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C)), kept
