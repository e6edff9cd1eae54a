# torch.func.vmap: one head of one sequence is written, the rest is mapped
import torch
from torch import Tensor, nn


def one_head(q: Tensor, k: Tensor, v: Tensor, later: Tensor) -> Tensor:
    scores = q @ k.T / q.size(-1) ** 0.5
    return torch.softmax(torch.where(later, float("-inf"), scores), dim=-1) @ v


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        self.heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.max_len = max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens, at most {self.max_len} are taken")
        later = torch.ones(T, T, device=x.device).tril().logical_not()
        cut = (B, T, self.heads, self.head_dim)
        q, k, v = self.q_proj(x).reshape(cut), self.k_proj(x).reshape(cut), self.v_proj(x).reshape(cut)
        heads = torch.func.vmap(one_head, in_dims=(1, 1, 1, None), out_dims=1)
        out = torch.func.vmap(heads, in_dims=(0, 0, 0, None))(q, k, v, later)
        return self.o_proj(out.reshape(B, T, C))
