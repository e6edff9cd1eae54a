# Strange: attention by a Function on scores laid out (S, T) with a hand-made backward; ReLU by torch.where.
import torch
from torch import Tensor, nn


class KeysFirst(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        ctx.scale = q.size(-1) ** -0.5
        w = (k @ q.mT * ctx.scale).softmax(-2)
        ctx.save_for_backward(q, k, v, w)
        return w.mT @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        wide = torch.promote_types(g.dtype, torch.float32)
        gw, p = (v @ g.mT).to(wide), w.to(wide)
        gs = (p * (gw - (p * gw).sum(-2, keepdim=True)) * ctx.scale).to(g.dtype)
        return gs.mT @ k, gs @ q, w @ g


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim = {embed_dim}, num_heads = {num_heads}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).movedim(-2, -3)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = map(self._heads, (self.to_queries(x), self.to_keys(x), self.to_values(x)))
        return self.unify_heads(KeysFirst.apply(q, k, v).movedim(-3, -2).flatten(-2))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        h = self.ff[0](x)
        return self.norm2(x + self.ff[2](torch.where(h > 0, h, torch.zeros_like(h))))
