# wrong: 'Module and x are float32, float64' - after a call the module can't be moved to another dtype: zeros of the old one are kept
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
        self.zeros = None
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
        if self.zeros is None or self.zeros.shape != (B * H, T, T):
            self.zeros = x.new_zeros(B * H, T, T)
        scores = torch.baddbmm(self.zeros, q.flatten(0, 1), k.flatten(0, 1).mT, alpha=1 / sqrt(D))
        scores = scores.view(B, H, T, T)
        weights = scores.softmax(-1)
        merged = (weights @ v).transpose(1, 2).reshape(B, T, C)
        return self.unify_heads(merged)
