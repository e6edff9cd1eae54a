# Strange: one head is written as a function of (B, T, D), and vmap makes the rest over the head axis.
import torch
from torch import Tensor, nn


def _head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-1, -2) * (1 / k.shape[-1] ** 0.5), -1) @ v


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if (rest := embed_dim % num_heads) != 0:
            raise ValueError(f"{embed_dim} / {num_heads} leaves {rest}")
        self.split = nn.Unflatten(-1, (num_heads, embed_dim // num_heads))
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(self.to_queries(x)), self.split(self.to_keys(x)), self.split(self.to_values(x))
        return self.unify_heads(torch.vmap(_head, in_dims=2, out_dims=2)(q, k, v).flatten(-2))
