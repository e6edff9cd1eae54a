# right: softmax piece by piece over blocks of keys, as flash attention does
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
        q = self.q_proj(x).view(B, T, G, R, D).permute(0, 2, 1, 3, 4) * D**-0.5
        k = self.k_proj(x).view(B, T, G, D).transpose(1, 2)
        v = self.v_proj(x).view(B, T, G, D).transpose(1, 2)
        rows = q.reshape(B, G, T * R, D)
        place = torch.arange(T, device=x.device)
        top = total = mixed = None
        for start in range(0, T, 37):
            keys, values = k[:, :, start : start + 37], v[:, :, start : start + 37]
            scores = (rows @ keys.mT).view(B, G, T, R, -1)
            late = place[start : start + 37] > place[:, None, None]
            scores = scores.masked_fill(late, float("-inf")).flatten(2, 3)
            highest = scores.detach().amax(-1, keepdim=True)
            if top is None:  # the first block has the first key, which everybody sees
                top = highest
                powers = (scores - top).exp()
                total, mixed = powers.sum(-1, keepdim=True), powers @ values
                continue
            higher = torch.maximum(top, highest)
            powers, shrink = (scores - higher).exp(), (top - higher).exp()
            total = total * shrink + powers.sum(-1, keepdim=True)
            mixed = mixed * shrink + powers @ values
            top = higher
        out = (mixed / total).view(B, G, T, R, D).transpose(1, 2)
        return self.o_proj(out.reshape(B, T, C))
