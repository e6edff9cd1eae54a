# One product for queries, keys and values: the three weights on top of each other.
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
        B, T, C = x.shape
        few = self.G * self.D
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        q, k, v = nn.functional.linear(x, weight).split([C, few, few], dim=-1)
        rows = q.reshape(B, T, self.G, -1, self.D).permute(0, 2, 3, 1, 4)
        R = rows.size(2)
        k = k.reshape(B, T, self.G, self.D).permute(0, 2, 3, 1)
        v = v.reshape(B, T, self.G, self.D).permute(0, 2, 1, 3)
        scores = (rows.flatten(2, 3) @ k) * (1.0 / self.D**0.5)
        late = torch.arange(T, device=x.device) > torch.arange(T, device=x.device)[:, None]
        scores = scores.masked_fill(late.repeat(R, 1), -float("inf"))
        mixed = (scores.softmax(dim=-1) @ v).unflatten(2, (R, T))
        out = mixed.permute(0, 3, 1, 2, 4).flatten(2)
        return out @ self.o_proj.weight.T
