# A loop over query heads: each takes a view of its group's keys.
import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is no multiple of num_heads {num_heads}")
        if num_heads % num_groups:
            raise ValueError(f"num_heads {num_heads} is no multiple of num_groups {num_groups}")
        self.H, self.G = num_heads, num_groups
        self.D = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        T, D = x.size(1), self.D
        hidden = torch.ones(T, T, device=x.device).triu(1) > 0
        outs = []
        for head in range(self.H):
            group = head * self.G // self.H
            mine = slice(head * D, head * D + D)
            ours = slice(group * D, group * D + D)
            scores = q[..., mine] @ k[..., ours].transpose(1, 2) / D**0.5
            scores = scores.masked_fill(hidden, -torch.inf)
            outs.append(torch.softmax(scores, dim=2) @ v[..., ours])
        return self.o_proj(torch.cat(outs, dim=2))
