# right: a subclass of nn.LayerNorm that computes by hand in float32 or wider, the residual inside it; heads in a loop
import torch
from torch import Tensor, nn


class AddNorm(nn.LayerNorm):
    """norm(x + y), the statistics in float32 for bfloat16."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        h = (x + y).to(wide)
        var, mean = torch.var_mean(h, dim=-1, correction=0, keepdim=True)
        h = (h - mean) * torch.rsqrt(var + self.eps)
        return (h * self.weight.to(wide) + self.bias.to(wide)).to(x.dtype)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} does not divide {embed_dim}")
        self.D = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        qkv = (layer(x).split(self.D, -1) for layer in (self.to_queries, self.to_keys, self.to_values))
        heads = [((q @ k.mT) / self.D**0.5).softmax(-1) @ v for q, k, v in zip(*qkv)]
        return self.unify_heads(torch.cat(heads, -1))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = AddNorm(embed_dim)
        self.norm2 = AddNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, embed_dim * 4), nn.ReLU(), nn.Linear(embed_dim * 4, embed_dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x, self.attention(x))
        return self.norm2(x, self.ff(x))
