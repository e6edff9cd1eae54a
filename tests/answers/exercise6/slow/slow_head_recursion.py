"""Recursion over the heads, query rows one by one, feed-forward sequence by sequence."""

import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {embed_dim} features")
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def one_head(self, q, k, v):
        rows = []
        for query in q:
            scores = [(query * key).sum() / self.head_dim**0.5 for key in k]
            weights = torch.softmax(torch.stack(scores), dim=0)
            rows.append(sum([weight * value for weight, value in zip(weights, v)]))
        return torch.stack(rows)

    def all_heads(self, q, k, v):
        D = self.head_dim
        first = self.one_head(q[:, :D].unbind(), k[:, :D].unbind(), v[:, :D].unbind())
        if q.shape[1] == D:
            return first
        return torch.cat([first, self.all_heads(q[:, D:], k[:, D:], v[:, D:])], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        outputs = []
        for sequence in x:
            q = self.to_queries(sequence).to(wide)
            k = self.to_keys(sequence).to(wide)
            v = self.to_values(sequence).to(wide)
            outputs.append(self.unify_heads(self.all_heads(q, k, v).to(x.dtype)))
        return torch.stack(outputs)


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(self, x: Tensor) -> Tensor:
        attended = self.attention(x)
        outputs = []
        for b in range(x.shape[0]):
            h = self.norm1(x[b] + attended[b])
            outputs.append(self.norm2(h + self.ff(h)))
        return torch.stack(outputs)
