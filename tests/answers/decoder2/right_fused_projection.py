"""Keys and values by one product with both weights on top of each other."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, memory_dim):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be shared among {num_heads} heads")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, memory, memory_mask=None):
        B, T, C = x.shape
        H = self.num_heads
        both = torch.cat([self.k_proj.weight, self.v_proj.weight])
        kv = nn.functional.linear(memory, both)  # (B, S, 2C)
        kv = kv.view(B, -1, 2, H, C // H).permute(2, 0, 3, 1, 4)
        k, v = kv.unbind(0)
        q = self.q_proj(x).view(B, T, H, C // H).permute(0, 2, 1, 3)
        attn = (q @ k.transpose(-1, -2)).div((C // H) ** 0.5)
        if memory_mask is not None:
            keep = memory_mask.bool().reshape(B, 1, 1, -1)
            attn = attn.masked_fill(keep.logical_not(), float("-inf"))
            attn = torch.softmax(attn, -1).nan_to_num(0.0)
        else:
            attn = torch.softmax(attn, -1)
        return self.o_proj((attn @ v).permute(0, 2, 1, 3).reshape(B, T, C))
