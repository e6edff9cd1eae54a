# unusual: one head under vmap over heads, in_dims on the head axis
import torch
from torch import Tensor, nn
from torch.func import vmap


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
        def attend(q, k, v):
            return torch.softmax(torch.einsum("btd,bsd->bts", q, k) / q.shape[-1] ** 0.5, -1) @ v

        def cut(layer):
            return layer(x).unflatten(-1, (self.num_heads, self.head_dim))

        heads = vmap(attend, in_dims=2, out_dims=2)(cut(self.to_queries), cut(self.to_keys), cut(self.to_values))
        return self.unify_heads(heads.flatten(2))
