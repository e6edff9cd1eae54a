# right: one head of one sequence, vmapped over heads and then over the batch; empty sequences by a second where
import torch
from torch import Tensor, nn


def read(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
    """(T, D), (S, D), (S, D), (S,) -> (T, D)"""
    empty = hidden.all()
    scores = torch.mm(q, k.t()) / q.shape[1] ** 0.5
    # where nothing is left, nothing is hidden for now, so that the softmax stays finite
    weights = scores.masked_fill(hidden & ~empty, -torch.inf).softmax(1)
    return torch.mm(weights.masked_fill(hidden, 0.0), v)


over_heads = torch.vmap(read, in_dims=(1, 1, 1, None), out_dims=1)
over_batch = torch.vmap(over_heads)


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads ({num_heads}) does not divide embed_dim ({embed_dim})")
        self.split = (num_heads, embed_dim // num_heads)
        self.o_proj = nn.Linear(embed_dim, embed_dim, False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, False)
        self.q_proj = nn.Linear(embed_dim, embed_dim, False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        if memory_mask is None:
            memory_mask = memory.detach().new_ones(memory.shape[:-1])
        mixed = over_batch(
            self.q_proj(x).unflatten(-1, self.split),
            self.k_proj(memory).unflatten(-1, self.split),
            self.v_proj(memory).unflatten(-1, self.split),
            memory_mask.logical_not(),
        )
        return self.o_proj(mixed.flatten(-2))
