# right: scores as (B, H, S, T), the softmax over S, the lower triangle hidden
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
            layer(x).reshape(B, T, self.heads, self.head_dim).permute(0, 2, 3, 1)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )  # (B, H, D, T)
        scores = k.mT @ q / self.head_dim**0.5
        later = torch.ones(T, T, dtype=torch.bool, device=x.device).tril(-1)
        weights = scores.masked_fill(later, float("-inf")).softmax(dim=2)
        return self.o_proj((v @ weights).flatten(1, 2).mT)
