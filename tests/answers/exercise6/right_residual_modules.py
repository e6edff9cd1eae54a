# unusual: each sublayer is also wrapped in a Residual module, so torch knows the same parameters under two names
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be cut into {num_heads} heads")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        weights = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
        return self.unify_heads((weights @ v).transpose(1, 2).flatten(2))


class Residual(nn.Module):
    def __init__(self, sublayer: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x + self.sublayer(x))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )
        self.body = nn.Sequential(Residual(self.attention, self.norm1), Residual(self.ff, self.norm2))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)
