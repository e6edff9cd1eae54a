# one product for queries, keys and values: the three weights are joined in each call
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, softmax


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
        if x.size(1) > self.max_len:
            raise ValueError("a sequence of %d is longer than max_len, %d" % (x.size(1), self.max_len))
        B, T, C = x.shape
        joined = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        q, k, v = linear(x, joined).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q.matmul(k.mT).div(self.head_dim**0.5)
        rows, columns = torch.triu_indices(T, T, 1, device=x.device)
        later = torch.zeros(T, T, dtype=torch.bool, device=x.device)
        later[rows, columns] = True
        scores = scores.masked_fill(later, float("-inf"))
        return self.o_proj(softmax(scores, dim=-1).matmul(v).permute(0, 2, 1, 3).reshape(B, T, C))
