# Strange: the memory is read in blocks of 40 tokens by an online softmax, one block's keys and values at a time.
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

    def _split(self, y: Tensor) -> Tensor:
        y = y.to(torch.promote_types(y.dtype, torch.float32))
        return y.unflatten(2, (self.num_heads, -1)).movedim(2, 1)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        see = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
        if memory_mask is not None:
            see = memory_mask.to(torch.bool)
        q = self._split(self.q_proj(x))
        q = q * q.size(-1) ** -0.5
        m = q.new_full((*q.shape[:3], 1), torch.finfo(q.dtype).min)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for block, open_ in zip(memory.split(40, 1), see.split(40, 1)):
            k, v = self._split(self.k_proj(block)), self._split(self.v_proj(block))
            s = (q @ k.mT).masked_fill(~open_[:, None, None], -torch.inf)
            top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            c, p = torch.exp(m - top), torch.exp(s - top)
            z, o, m = z * c + p.sum(-1, keepdim=True), o * c + p @ v, top
        return self.o_proj((o / z.masked_fill(z == 0, 1)).movedim(1, 2).flatten(2).to(x.dtype))
