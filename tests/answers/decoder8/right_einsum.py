# unusual: einsum everywhere, split heads by unflatten, root by linalg.vector_norm
import torch
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
        square = torch.einsum("...c,...c->...", x, x)[..., None] / x.shape[-1]
        x = x / torch.sqrt(square + self.eps)
        return self.weight * x.to(dtype)


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        gate = torch.einsum("...c,fc->...f", x, self.gate_proj.weight)
        up = torch.einsum("...c,fc->...f", x, self.up_proj.weight)
        return torch.einsum("...f,...f,cf->...c", gate * gate.sigmoid(), up, self.down_proj.weight)


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
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * self.head_dim**-0.5
        place = torch.arange(x.shape[1], device=x.device)
        scores = torch.where(place[:, None] >= place, scores, -torch.inf)
        return self.o_proj(torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(-2))


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
