# One tensor for what all heads give, filled head by head.
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
        q = self.q_proj(x).view(B, T, self.H, self.D)
        k = self.k_proj(x).view(B, T, self.G, self.D)
        v = self.v_proj(x).view(B, T, self.G, self.D)
        out = torch.zeros(B, T, self.H, self.D, dtype=q.dtype, device=q.device)
        mask = torch.tril(torch.ones((T, T), device=x.device)).logical_not()
        each = self.H // self.G
        for g in range(self.G):
            for h in range(g * each, (g + 1) * each):
                s = torch.matmul(q[:, :, h], k[:, :, g].permute(0, 2, 1)) / torch.tensor(
                    float(self.D), dtype=x.dtype, device=x.device
                ).sqrt()
                s = s.masked_fill(mask, torch.finfo(s.dtype).min)
                out[:, :, h] = torch.softmax(s, dim=-1) @ v[:, :, g]
        return self.o_proj(out.view(B, T, C))
