# right: both sublayers under checkpoint, the block as a reduce over (sublayer, norm) pairs
from functools import reduce

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim={embed_dim}, num_heads={num_heads}")
        self.num_heads = num_heads
        for name in ["to_queries", "to_keys", "to_values", "unify_heads"]:
            self.add_module(name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        H = self.num_heads
        q = torch.stack(self.to_queries(x).chunk(H, dim=2))  # (H, B, T, D)
        k = torch.stack(self.to_keys(x).chunk(H, dim=2))
        v = torch.stack(self.to_values(x).chunk(H, dim=2))
        w = torch.softmax(torch.einsum("hbtd,hbsd->hbts", q, k) * q.size(-1) ** -0.5, dim=-1)
        return self.unify_heads(torch.cat(torch.einsum("hbts,hbsd->hbtd", w, v).unbind(0), dim=2))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(inplace=True),
            nn.Linear(4 * embed_dim, embed_dim),
        )
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)

    def forward(self, x: Tensor) -> Tensor:
        def step(h: Tensor, pair: tuple[nn.Module, nn.Module]) -> Tensor:
            sublayer, norm = pair
            return norm(h + checkpoint(sublayer, h, use_reentrant=False))

        return reduce(step, [(self.attention, self.norm1), (self.ff, self.norm2)], x)
