# Strange: the queries of a group are stacked as R*T rows, so that plain bmm meets each key once.
import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if num_heads % num_groups:
            raise ValueError(f"num_groups {num_groups} does not divide num_heads {num_heads}")
        self.H, self.G = num_heads, num_groups
        narrow = embed_dim // num_heads * num_groups
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, narrow, bias=False)
        self.v_proj = nn.Linear(embed_dim, narrow, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        (B, T, C), G, R, D = x.shape, self.G, self.H // self.G, x.size(2) // self.H
        q = self.q_proj(x).reshape(B, T, G, R, D).permute(0, 2, 3, 1, 4).reshape(B * G, R * T, D)
        k = self.k_proj(x).reshape(B, T, G, D).permute(0, 2, 3, 1).reshape(B * G, D, T)
        v = self.v_proj(x).reshape(B, T, G, D).transpose(1, 2).reshape(B * G, T, D)
        future = torch.full((T, T), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
        s = torch.bmm(q / D**0.5, k).view(B * G, R, T, T) + future
        o = torch.bmm(s.softmax(-1).view(B * G, R * T, T), v)
        return self.o_proj(o.view(B, G, R, T, D).permute(0, 3, 1, 2, 4).reshape(B, T, C))
