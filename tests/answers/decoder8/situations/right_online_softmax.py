# right: keys in blocks with a running maximum, as in flash attention; scaled norm against overflow
import math

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        if dtype in (torch.bfloat16, torch.float16):
            x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


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
        b, t, c = x.shape
        heads = (self.num_heads, self.head_dim)
        q, k, v = (f(x).unflatten(-1, heads).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        place = torch.arange(t, device=x.device)
        top = q.new_full((b, self.num_heads, t, 1), torch.finfo(q.dtype).min)
        total, mixed = torch.zeros_like(top), torch.zeros_like(v)
        for start in range(0, t, 32):
            s = q @ k[:, :, start : start + 32].mT / math.sqrt(self.head_dim)
            hidden = place[:, None] < place[start : start + 32]
            s = s.masked_fill(hidden, torch.finfo(q.dtype).min)
            new = torch.maximum(top, s.amax(-1, keepdim=True)).detach()
            e = torch.exp(s - new) * ~hidden
            old = torch.exp(top - new)
            total, mixed, top = total * old + e.sum(-1, keepdim=True), mixed * old + e @ v[:, :, start : start + 32], new
        return self.o_proj((mixed / total).transpose(1, 2).reshape(b, t, c))


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
