"""Batch, groups, heads of a group, queries, keys: five loops; the keys of a group are a list."""

import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} does not divide embed_dim={embed_dim}")
        if num_heads % num_groups != 0:
            raise ValueError(f"num_groups={num_groups} does not divide num_heads={num_heads}")
        self.num_heads = num_heads
        self.num_groups = num_groups
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, _ = x.shape
        G, D = self.num_groups, self.head_dim
        per_group = self.num_heads // G
        wide = torch.promote_types(x.dtype, torch.float32)
        q = self.q_proj(x).to(wide)
        k = self.k_proj(x).to(wide)
        v = self.v_proj(x).to(wide)
        sequences = []
        for b in range(B):
            heads = []
            for g in range(G):
                keys = k[b, :, g * D : (g + 1) * D].unbind(0)
                values = v[b, :, g * D : (g + 1) * D].unbind(0)
                for n in range(per_group):
                    h = g * per_group + n
                    queries = q[b, :, h * D : (h + 1) * D].unbind(0)
                    rows = []
                    for t in range(T):
                        scores = []
                        for s in range(t + 1):
                            scores.append(torch.dot(queries[t], keys[s]) * D**-0.5)
                        weights = torch.softmax(torch.stack(scores), dim=0).unbind(0)
                        row = weights[0] * values[0]
                        for s in range(1, t + 1):
                            row = row + weights[s] * values[s]
                        rows.append(row)
                    heads.append(torch.stack(rows))
            sequences.append(torch.cat(heads, dim=1))
        return self.o_proj(torch.stack(sequences).to(x.dtype))
