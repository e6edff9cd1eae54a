# unusual: BOM, CRLF, prints, a config dataclass, __all__, a demo with torch's own encoder layer
from __future__ import annotations
import dataclasses, os, pathlib
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import *

__all__ = ["TransformerBlock", "MultiHeadSelfAttention", "Config"]
os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")
HERE = pathlib.Path(__file__).resolve().parent
print("running from", HERE.name)


@dataclasses.dataclass
class Config:
    embed_dim: int = 8
    num_heads: int = 2


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = (
            f(x).view(B, T, self.num_heads, -1).transpose(1, 2)
            for f in (self.to_queries, self.to_keys, self.to_values)
        )
        w = (q @ k.transpose(-2, -1) / q.size(-1) ** 0.5).softmax(-1)
        return self.unify_heads((w @ v).transpose(1, 2).reshape(B, T, C))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        print("block", x.shape, x.dtype, x.device)
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ff(x))


def unused(x): return x


if __name__ == '__main__':
    c = Config()
    block = TransformerBlock(**dataclasses.asdict(c))
    layer = nn.TransformerEncoderLayer(c.embed_dim, c.num_heads, 4 * c.embed_dim, dropout=0.0, batch_first=True)
    print(block(torch.randn(2, 3, 8)).shape, layer(torch.randn(2, 3, 8)).shape)
