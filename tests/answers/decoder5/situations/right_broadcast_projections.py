# right: each projection a product that broadcasts x over heads, which copies x and no key
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
        T = x.size(1)
        q = x[:, None] @ self.q_proj.weight.view(1, self.H, self.D, -1).mT  # (B, H, T, D)
        k = x[:, None] @ self.k_proj.weight.view(1, self.G, self.D, -1).mT
        v = x[:, None] @ self.v_proj.weight.view(1, self.G, self.D, -1).mT
        past = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        outs = []
        for g, mine in enumerate(q.chunk(self.G, dim=1)):  # (B, R, T, D)
            scores = torch.einsum("brtd,bsd->brts", mine, k[:, g]) * self.D**-0.5
            weights = scores.masked_fill(~past, float("-inf")).softmax(dim=-1)
            outs.append(torch.einsum("brts,bsd->brtd", weights, v[:, g]))
        return self.o_proj(torch.cat(outs, dim=1).transpose(1, 2).flatten(2))
