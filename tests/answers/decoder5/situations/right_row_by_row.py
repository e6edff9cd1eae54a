# right: position by position, each over the keys that it sees, without any mask
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
        q = self.q_proj(x).view(B, T, G, R, D)
        k = self.k_proj(x).view(B, T, G, D).permute(0, 2, 3, 1).contiguous()
        v = self.v_proj(x).view(B, T, G, D).transpose(1, 2).contiguous()
        rows = []
        for t in range(T):
            weights = (q[:, t] @ k[..., : t + 1] / D**0.5).softmax(dim=-1)  # (B, G, R, t + 1)
            rows.append((weights @ v[:, :, : t + 1]).reshape(B, C))
        return self.o_proj(torch.stack(rows, dim=1))
