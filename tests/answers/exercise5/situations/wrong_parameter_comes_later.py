# wrong: 'The parameters are those named below and no others' - the first call adds one
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.to_queries(x).reshape(B, T, H, D).transpose(1, 2)
        k = self.to_keys(x).reshape(B, T, H, D).transpose(1, 2)
        v = self.to_values(x).reshape(B, T, H, D).transpose(1, 2)
        if not hasattr(self, "temperature"):
            self.temperature = nn.Parameter(x.new_ones(()))
        scores = q @ k.mT / sqrt(D) * self.temperature
        weights = scores.softmax(-1)
        merged = (weights @ v).transpose(1, 2).reshape(B, T, C)
        return self.unify_heads(merged)
