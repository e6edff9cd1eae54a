# right: one query with each key of a distance at a time: the diagonals of the scores
import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        self.heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.max_len = max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens, at most {self.max_len} are taken")
        q, k, v = (
            layer(x).reshape(B, T, self.heads, self.head_dim)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        columns = []
        for distance in range(T):
            score = (q[:, distance:] * k[:, : T - distance]).sum(-1) / self.head_dim**0.5
            columns.append(nn.functional.pad(score, (0, 0, distance, 0), value=float("-inf")))
        weights = torch.stack(columns, dim=-1).softmax(-1)  # (B, T, H, distance)
        out = torch.zeros_like(v)
        for distance in range(T):
            moved = nn.functional.pad(v[:, : T - distance], (0, 0, 0, 0, distance, 0))
            out = out + weights[..., distance, None] * moved
        return self.o_proj(out.reshape(B, T, C))
