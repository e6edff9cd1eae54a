# right: tokens as columns, weights on the left, heads and features first
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
        G, R, D = self.G, self.H // self.G, self.D
        columns = x.mT  # (B, C, T)
        q = (self.q_proj.weight @ columns).reshape(B, G, R, D, T)
        k = (self.k_proj.weight @ columns).reshape(B, G, D, T)
        v = (self.v_proj.weight @ columns).reshape(B, G, D, T)
        q = q.transpose(2, 3).reshape(B, G, D, R * T)
        scores = (q.mT @ k).mul(D**-0.5).unflatten(2, (R, T))
        shown = torch.ones(T, T, device=x.device, dtype=torch.bool).tril()
        scores = torch.where(shown, scores, scores.new_full((), float("-inf")))
        weights = torch.nn.functional.softmax(scores, -1).flatten(2, 3)
        mixed = v @ weights.mT  # (B, G, D, R·T)
        mixed = mixed.unflatten(3, (R, T)).transpose(2, 3).reshape(B, C, T)
        return (self.o_proj.weight @ mixed).mT
