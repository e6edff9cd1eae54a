# Batch and groups in one axis, queries of a group as rows (T, R), and torch.baddbmm.
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
        q = self.q_proj(x).view(B, T, G, R * D).transpose(1, 2).reshape(B * G, T * R, D)
        k = self.k_proj(x).view(B, T, G, D).permute(0, 2, 3, 1).reshape(B * G, D, T)
        v = self.v_proj(x).view(B, T, G, D).transpose(1, 2).reshape(B * G, T, D)
        position = torch.arange(T, device=x.device)
        late = position[None, :] > position.repeat_interleave(R)[:, None]
        bias = torch.zeros(T * R, T, dtype=x.dtype, device=x.device).masked_fill(late, -torch.inf)
        scores = torch.baddbmm(bias.expand(B * G, -1, -1), q, k, alpha=D**-0.5)
        mixed = torch.bmm(scores.softmax(-1), v)
        mixed = mixed.view(B, G, T, R * D).transpose(1, 2).reshape(B, T, C)
        return self.o_proj(mixed)
