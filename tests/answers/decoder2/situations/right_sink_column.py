# right: a sink: one more key with value 0, at score -inf unless everything is hidden: then it takes all the weight
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is no multiple of num_heads {num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def heads(self, t: Tensor) -> Tensor:
        return t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.heads(self.q_proj(x)), self.heads(self.k_proj(memory)), self.heads(self.v_proj(memory))
        if memory_mask is None:
            memory_mask = torch.ones(memory.shape[:2], device=memory.device)
        hidden = memory_mask == 0
        scores = (q @ k.mT) / q.size(-1) ** 0.5
        scores = scores.masked_fill(hidden[:, None, None, :], float("-inf"))
        sink = torch.zeros_like(scores[..., :1]).masked_fill(
            ~hidden.all(dim=1)[:, None, None, None], float("-inf")
        )
        weights = torch.cat((scores, sink), dim=-1).softmax(dim=-1)
        mixed = weights @ F.pad(v, (0, 0, 0, 1))
        return self.o_proj(mixed.transpose(1, 2).flatten(2))
