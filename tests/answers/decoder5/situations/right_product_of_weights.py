# right: no keys at all, for each head the product of its two weights
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
        T, R = x.size(1), self.H // self.G
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        asks = self.q_proj.weight.split(self.D)
        keys = self.k_proj.weight.split(self.D)
        values = self.v_proj.weight.split(self.D)
        gives = self.o_proj.weight.split(self.D, dim=1)
        out = torch.zeros_like(x)
        for h in range(self.H):
            scores = (x @ (asks[h].mT / self.D**0.5)) @ (x @ keys[h // R].mT).mT
            weights = scores.masked_fill(future, float("-inf")).softmax(-1)
            out = out + ((weights @ x) @ values[h // R].mT) @ gives[h].mT
        return out
