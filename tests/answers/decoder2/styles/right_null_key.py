# Strange: a further key of zeros, open only where all real ones are hidden, takes the weight there.
import torch
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        if memory_mask is None:
            memory_mask = memory.new_ones(memory.shape[:2])
        see = memory_mask != 0
        see = torch.cat([see, ~see.any(1, keepdim=True)], 1)[:, None, None]
        memory = torch.cat([memory, torch.zeros_like(memory[:, :1])], 1)
        q = self.q_proj(x).unflatten(2, (self.num_heads, -1))
        k = self.k_proj(memory).unflatten(2, (self.num_heads, -1))
        v = self.v_proj(memory).unflatten(2, (self.num_heads, -1))
        s = torch.einsum("bthd,bshd->bhts", q, k) / k.size(-1) ** 0.5
        w = s.masked_fill(~see, -torch.inf).softmax(-1)
        return self.o_proj(torch.einsum("bhts,bshd->bthd", w, v).flatten(2))
