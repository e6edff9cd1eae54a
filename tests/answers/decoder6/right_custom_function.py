# Backwards by hand: for what lies between the projections, and for the rotation.
import torch
from torch import nn


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        a, b = grad.chunk(2, -1)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1), None, None


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, seen):
        weights = (q @ k.mT).masked_fill(~seen, float("-inf")).softmax(-1).nan_to_num(0.0)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        of_weights = grad @ v.mT
        inner = (of_weights * weights).sum(-1, keepdim=True)
        of_scores = weights * (of_weights - inner)
        # A key's heads add up: its axis of the group is 1 wide.
        of_k = (of_scores.mT @ q).sum(2, keepdim=True)
        of_v = (weights.mT @ grad).sum(2, keepdim=True)
        return of_scores @ k, of_k, of_v, None


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        super().__init__()
        if embed_dim % num_heads or embed_dim // num_heads % 2:
            raise ValueError(f"embed_dim {embed_dim} for num_heads {num_heads}")
        if num_heads % num_groups:
            raise ValueError(f"num_heads {num_heads} for num_groups {num_groups}")
        self.H, self.G, self.D, self.base = num_heads, num_groups, embed_dim // num_heads, base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, positions, cache=None):
        B, T, C = x.shape
        G, R, D = self.G, self.H // self.G, self.D
        wide = torch.float64 if x.dtype is torch.float64 else torch.float32
        pair = torch.arange(D // 2, device=x.device).to(wide)
        angle = positions[:, None, :, None].to(wide) * self.base ** (-2 * pair / D)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        q = Turn.apply(self.q_proj(x).view(B, T, G * R, D).transpose(1, 2), cos, sin)
        k = Turn.apply(self.k_proj(x).view(B, T, G, D).transpose(1, 2), cos, sin)
        v = self.v_proj(x).view(B, T, G, D).transpose(1, 2)
        places = positions
        if cache:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            places = torch.cat([cache[2], positions], 1)
        seen = (places[:, None] >= 0) & (places[:, None] <= positions[..., None])
        q = q.reshape(B, G, R, T, D) * D**-0.5
        mixed = Mix.apply(q, k.unsqueeze(2), v.unsqueeze(2), seen[:, None, None])
        merged = mixed.permute(0, 3, 1, 2, 4).reshape(B, T, C)
        return self.o_proj(merged), (k, v, places)
