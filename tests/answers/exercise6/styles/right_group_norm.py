# Strange: LayerNorm as a group norm of one group on flattened rows; feed-forward by F.linear; heads by chunk and stack.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads=} does not divide {embed_dim=}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            torch.stack(m(x).chunk(self.num_heads, -1))
            for m in (self.to_queries, self.to_keys, self.to_values)
        )
        mixed = ((q * q.shape[-1] ** -0.5) @ k.mT).softmax(-1) @ v
        return self.unify_heads(torch.cat(mixed.unbind(0), -1))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim))

    @staticmethod
    def _norm(layer: nn.LayerNorm, x: Tensor) -> Tensor:
        rows = F.group_norm(x.reshape(-1, x.size(-1)), 1, layer.weight, layer.bias, layer.eps)
        return rows.reshape(x.shape)

    def forward(self, x: Tensor) -> Tensor:
        x = self._norm(self.norm1, x + self.attention(x))
        up, _, down = self.ff
        h = F.threshold(F.linear(x, up.weight, up.bias), 0, 0)
        return self._norm(self.norm2, x + F.linear(h, down.weight, down.bias))
