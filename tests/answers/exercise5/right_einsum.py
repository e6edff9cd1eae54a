# unusual: heads as an axis of the weights, everything in einsum
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) must be divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        H, D = self.num_heads, self.head_dim
        wq, wk, wv = (
            layer.weight.view(H, D, H * D) for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        q = torch.einsum("btc,hdc->bhtd", x, wq)
        k = torch.einsum("btc,hdc->bhtd", x, wk)
        v = torch.einsum("btc,hdc->bhtd", x, wv)
        weights = torch.einsum("bhqd,bhkd->bhqk", q, k).div(D**0.5).softmax(-1)
        wo = self.unify_heads.weight.view(H * D, H, D)
        return torch.einsum("bhqk,bhkd,chd->bqc", weights, v, wo)
