# a float buffer of 0 and -inf that is not saved, cut to T and added
import math

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
        bias = torch.triu(torch.full((max_len, max_len), float("-inf")), diagonal=1)
        self.register_buffer("bias", bias[None, None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens, at most {self.max_len} are taken")
        q = self.q_proj(x).unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)
        k = self.k_proj(x).unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = (att + self.bias[:, :, :T, :T]).softmax(dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.o_proj(y)
