"""Four loops: batch, heads, queries, keys; every score is put into its place by indices."""

import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        D = self.head_dim
        wide = torch.promote_types(x.dtype, torch.float32)
        q = self.to_queries(x).to(wide)
        k = self.to_keys(x).to(wide)
        v = self.to_values(x).to(wide)
        sequences = []
        for b in range(B):
            heads = []
            for h in range(self.num_heads):
                start, end = h * D, (h + 1) * D
                rows = []
                for i in range(T):
                    scores = []
                    for j in range(T):
                        score = torch.dot(q[b, i, start:end], k[b, j, start:end])
                        scores.append(score / D**0.5)
                    weights = torch.stack(scores).softmax(0)
                    row = 0
                    for j in range(T):
                        row = row + weights[j] * v[b, j, start:end]
                    rows.append(row)
                heads.append(torch.stack(rows))
            sequences.append(torch.cat(heads, dim=1))
        return self.unify_heads(torch.stack(sequences).to(x.dtype))
