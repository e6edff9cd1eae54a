# A backward by hand for all that lies between the projections.
import torch
from torch import nn


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, late):
        weights = (q @ k.mT).masked_fill(late, float("-inf")).softmax(dim=-1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        of_weights = grad @ v.mT
        of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))
        return of_scores @ k, of_scores.mT @ q, weights.mT @ grad, None


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
        q = self.q_proj(x).view(B, T, G, R, D).permute(0, 2, 3, 1, 4).reshape(B, G, R * T, D)
        k = self.k_proj(x).view(B, T, G, D).transpose(1, 2)
        v = self.v_proj(x).view(B, T, G, D).transpose(1, 2)
        late = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1).repeat(R, 1)
        mixed = Mix.apply(q * D**-0.5, k, v, late)
        mixed = mixed.view(B, G, R, T, D).permute(0, 3, 1, 2, 4)
        return self.o_proj(mixed.reshape(B, T, C))
