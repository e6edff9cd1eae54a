# The softmax by hand, its mask multiplied in after exp and before the sum.
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
        R = self.H // self.G
        q = self.q_proj(x).view(B, T, self.G, R, self.D).permute(0, 2, 1, 3, 4).flatten(2, 3)
        k = self.k_proj(x).view(B, T, self.G, self.D).permute(0, 2, 3, 1)
        v = self.v_proj(x).view(B, T, self.G, self.D).transpose(1, 2)
        scores = ((q / self.D**0.5) @ k).unflatten(2, (T, R))  # (B, G, T, R, T)
        past = torch.ones(T, T, dtype=x.dtype, device=x.device).tril()[:, None]
        least = torch.finfo(x.dtype).min
        top = scores.masked_fill(past == 0, least).amax(dim=-1, keepdim=True).detach()
        powers = torch.exp((scores - top).clamp(max=0)) * past
        mixed = (powers.flatten(2, 3) @ v) / powers.sum(-1).flatten(2, 3)[..., None]
        mixed = mixed.unflatten(2, (T, R)).permute(0, 2, 1, 3, 4)
        return self.o_proj(mixed.reshape(B, T, C))
