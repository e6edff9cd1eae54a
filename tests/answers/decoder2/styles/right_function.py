# Strange: a Function that takes the mask as well; its weights are 0 in blind rows, its gradient by hand.
import torch
from torch import Tensor, nn


class Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, see):
        wide = torch.promote_types(q.dtype, torch.float32)
        s = torch.einsum("bthd,bshd->bhts", q.to(wide), k.to(wide)) * q.size(-1) ** -0.5
        s = s.masked_fill(see.logical_not(), -torch.inf)
        w = s.softmax(-1).masked_fill(see.logical_not(), 0)
        ctx.save_for_backward(q, k, v, w)
        return torch.einsum("bhts,bshd->bthd", w, v.to(wide)).to(q.dtype)

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        dtype, scale = q.dtype, q.size(-1) ** -0.5
        q, k, v, g = (t.to(w.dtype) for t in (q, k, v, g))
        gw = torch.einsum("bthd,bshd->bhts", g, v)
        gs = w * (gw - (gw * w).sum(-1, keepdim=True)) * scale
        return (
            torch.einsum("bhts,bshd->bthd", gs, k).to(dtype),
            torch.einsum("bhts,bthd->bshd", gs, q).to(dtype),
            torch.einsum("bhts,bthd->bshd", w, g).to(dtype),
            None,
        )


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
        mask = memory.new_ones(memory.shape[:2]) if memory_mask is None else memory_mask
        see = (mask != 0)[:, None, None, :]
        q, k, v = (t.unflatten(-1, (self.num_heads, -1)) for t in (self.q_proj(x), self.k_proj(memory), self.v_proj(memory)))
        return self.o_proj(Read.apply(q, k, v, see).flatten(2))
