# einsum throughout: the axes are named, nothing is transposed by hand; the mask is made on the way
import torch
from torch import Tensor, einsum, nn


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
        shape = (B, T, self.heads, self.head_dim)
        q, k, v = (layer(x).reshape(shape) for layer in (self.q_proj, self.k_proj, self.v_proj))
        scores = einsum("bqhd,bkhd->bhqk", q, k) * self.head_dim**-0.5
        past = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        weights = torch.softmax(scores.where(past, -torch.inf), dim=3)
        return self.o_proj(einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))
