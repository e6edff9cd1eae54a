# right: one sequence and one head at a time, under vmap; norm written for one vector
import math

import torch
import torch.nn.functional as F
from torch import nn


def norm_one(x, weight, eps):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide / torch.sqrt(wide.dot(wide) / wide.numel() + eps)).to(x.dtype) * weight


def attend_one(q, k, v):
    t = q.shape[0]
    scores = q @ k.T / math.sqrt(q.shape[-1])
    past = torch.ones(t, t, dtype=torch.bool, device=q.device).tril()
    return torch.where(past, scores, -math.inf).softmax(-1) @ v


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        return torch.vmap(norm_one, in_dims=(0, None, None))(flat, self.weight, self.eps).view(x.shape)


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) is not divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x):
        heads = (self.num_heads, self.head_dim)
        q, k, v = (f(x).unflatten(-1, heads) for f in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(torch.vmap(torch.vmap(attend_one, 1, 1))(q, k, v).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim, eps=1e-6):
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.ffn(self.ffn_norm(h))
