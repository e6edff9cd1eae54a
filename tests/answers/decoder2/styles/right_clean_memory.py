# Strange: padding is overwritten with zeros first, scores lie as (S, T), and the softmax runs over axis -2.
import torch
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} must divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        hidden = torch.zeros_like(memory[..., 0], dtype=torch.bool) if memory_mask is None else memory_mask == 0
        memory = memory.masked_fill(hidden[..., None], 0)
        q, k, v = (
            p(y).mT.unflatten(1, (self.num_heads, -1))
            for p, y in ((self.q_proj, x), (self.k_proj, memory), (self.v_proj, memory))
        )
        root = q.size(2) ** 0.25
        s = (k / root).mT @ (q / root)
        w = s.masked_fill(hidden[:, None, :, None], torch.finfo(s.dtype).min).softmax(-2)
        return self.o_proj((v @ w).flatten(1, 2).mT)
