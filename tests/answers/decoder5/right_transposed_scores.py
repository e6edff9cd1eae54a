# Scores laid out (keys, queries), and a softmax over dim -2.
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
        q = self.q_proj(x).view(B, T, G, R, D).permute(0, 2, 4, 3, 1).reshape(B, G, D, R * T)
        k = self.k_proj(x).view(B, T, G, D).transpose(1, 2)
        v = self.v_proj(x).view(B, T, G, D).permute(0, 2, 3, 1)
        scores = (k @ q / D**0.5).view(B, G, T, R, T)
        place = torch.arange(T, device=x.device)
        late = place[:, None, None] > place
        weights = scores.masked_fill(late, float("-inf")).softmax(dim=-3)
        mixed = v @ weights.reshape(B, G, T, R * T)  # (B, G, D, R·T)
        return self.o_proj(mixed.view(B, G, D, R, T).permute(0, 4, 1, 3, 2).reshape(B, T, C))
