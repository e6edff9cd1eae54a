# right: windows as views of padded keys, by unfold
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
        W = min(self.window, L)
        pad = torch.nn.functional.pad
        keys = pad(k, (0, 0, W - 1, 0)).unfold(2, W, 1)[:, :, L - T :]  # (B, H, T, D, W)
        values = pad(v, (0, 0, W - 1, 0)).unfold(2, W, 1)[:, :, L - T :]
        scores = (q[..., None] * keys).sum(-2) / self.head_dim**0.5
        place = torch.arange(L - T, L, device=x.device)[:, None] - (W - 1)
        place = place + torch.arange(W, device=x.device)
        weights = scores.masked_fill(place < 0, float("-inf")).softmax(-1)
        mixed = (weights[..., None, :] * values).sum(-1)
        kept = k[:, :, -self.window :].clone(), v[:, :, -self.window :].clone()
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C)), kept
