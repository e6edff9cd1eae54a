# An additive mask in a buffer that is not saved, and grows where it has to; a loop over groups.
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
        bias = torch.full((512, 512), float("-inf")).triu(1)
        self.register_buffer("bias", bias, persistent=False)

    def forward(self, x):
        T, D = x.size(1), self.D
        bias = self.bias[:T, :T].to(x.dtype)
        groups = zip(
            self.q_proj(x).chunk(self.G, dim=-1),
            self.k_proj(x).chunk(self.G, dim=-1),
            self.v_proj(x).chunk(self.G, dim=-1),
            strict=True,
        )
        outs = []
        for q, k, v in groups:
            for mine in q.split(D, dim=-1):
                weights = torch.softmax((mine @ k.mT).div(D**0.5) + bias, dim=-1)
                outs.append(weights @ v)
        return self.o_proj(torch.cat(outs, dim=-1))
