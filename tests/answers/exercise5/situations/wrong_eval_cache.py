# wrong: 'nothing is remembered from one call to the next' - in eval the keys of earlier calls stay, as for generation
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")

        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)
        self._past = None

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = (batch, length, self.num_heads, self.head_dim)
        q = self.to_queries(x).reshape(split).transpose(1, 2)
        k = self.to_keys(x).reshape(split).transpose(1, 2)
        v = self.to_values(x).reshape(split).transpose(1, 2)

        if not self.training:
            if self._past is not None and self._past[0].shape[0] == batch and self._past[0].dtype == k.dtype:
                k, v = torch.cat([self._past[0], k], dim=2), torch.cat([self._past[1], v], dim=2)
            self._past = k.detach(), v.detach()
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)

        out = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.unify_heads(out)
