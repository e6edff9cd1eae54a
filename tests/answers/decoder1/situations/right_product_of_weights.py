# right: scores as x (Wq^T Wk) x^T for each head, the values as (weights x) Wv^T Wo^T
import torch
from torch import Tensor, nn


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
        q, k, v = (
            layer.weight.view(self.heads, self.head_dim, C)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        o = self.o_proj.weight.view(C, self.heads, self.head_dim)
        x = x[:, None]
        scores = x @ (q.mT @ k) @ x.mT / self.head_dim**0.5
        later = torch.triu(torch.ones_like(scores[0, 0], dtype=torch.bool), 1)
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
        return (weights @ x @ v.mT @ o.permute(1, 2, 0)).sum(1)
