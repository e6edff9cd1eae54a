# All axes by name: einsum folds the heads of a group into rows by itself.
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
        q = self.q_proj(x).unflatten(-1, (self.G, self.H // self.G, self.D))
        k = self.k_proj(x).unflatten(-1, (self.G, self.D))
        v = self.v_proj(x).unflatten(-1, (self.G, self.D))
        scores = torch.einsum("btgrd,bsgd->bgrts", q, k) * self.D**-0.5
        T = x.size(1)
        past = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        weights = torch.where(past, scores, float("-inf")).softmax(dim=-1)
        mixed = torch.einsum("bgrts,bsgd->btgrd", weights, v)
        return self.o_proj(mixed.flatten(2))
