# Strange: every part is run by torch.func.functional_call on its own named parameters.
import torch
from torch import Tensor, nn
from torch.func import functional_call


def run(module: nn.Module, x: Tensor) -> Tensor:
    return functional_call(module, dict(module.named_parameters()), (x,))


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            run(m, x).unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
            for m in (self.to_queries, self.to_keys, self.to_values)
        )
        w = torch.vmap(lambda a, b: torch.softmax(a @ b.mT / a.size(-1) ** 0.5, -1), 1, 1)(q, k)
        return run(self.unify_heads, (w @ v).transpose(-2, -3).flatten(-2))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        x = run(self.norm1, x + run(self.attention, x))
        return run(self.norm2, x + run(self.ff, x))
