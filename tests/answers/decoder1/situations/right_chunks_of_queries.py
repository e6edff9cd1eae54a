# right: chunks of 31 queries, each with the keys up to its last one alone
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
            layer(x).reshape(B, T, self.heads, self.head_dim).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        parts = []
        for start in range(0, T, 31):
            end = min(start + 31, T)
            scores = q[:, :, start:end] @ k[:, :, :end].mT / self.head_dim**0.5
            past = torch.ones(end - start, end, dtype=torch.bool, device=x.device).tril(start)
            parts.append(scores.masked_fill(~past, float("-inf")).softmax(-1) @ v[:, :, :end])
        return self.o_proj(torch.cat(parts, dim=2).transpose(1, 2).reshape(B, T, C))
