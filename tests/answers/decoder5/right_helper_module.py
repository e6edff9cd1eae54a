# A module for each group, which holds no parameters, and a file with a demo.
from math import sqrt

import torch
from torch import nn


class Group(nn.Module):
    """The queries of a group, (B, T, R, D), with one head of keys and values, (B, T, D)."""

    def forward(self, q, k, v):
        T, R = q.shape[1:3]
        rows = q.flatten(1, 2)  # (B, T·R, D)
        scores = (rows @ k.transpose(-1, -2)).unflatten(1, (T, R)) / sqrt(q.size(-1))
        future = torch.triu(torch.ones_like(scores[0, :, 0], dtype=torch.bool), 1)
        scores = scores.masked_fill(future.unsqueeze(1), float("-inf"))
        return (scores.softmax(-1).flatten(1, 2) @ v).unflatten(1, (T, R))


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
        self.group = Group()
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x):
        q = self.q_proj(x).unflatten(-1, (self.G, self.H // self.G, self.D))
        k = self.k_proj(x).unflatten(-1, (self.G, self.D))
        v = self.v_proj(x).unflatten(-1, (self.G, self.D))
        each = [self.group(q[:, :, g], k[:, :, g], v[:, :, g]) for g in range(self.G)]
        return self.o_proj(torch.stack(each, dim=2).flatten(2))


if __name__ == "__main__":
    print(GroupedQueryAttention(30, 6, 2)(torch.randn(2, 7, 30)).shape)
