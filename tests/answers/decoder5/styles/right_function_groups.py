# Strange: a hand-written Function for groups; gradients of keys and values are summed over members by einsum.
import torch
from torch import Tensor, nn


class Grouped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        wide = torch.promote_types(q.dtype, torch.float32)
        ctx.dtype = q.dtype
        q, k, v = q.to(wide) * q.size(-1) ** -0.5, k.to(wide), v.to(wide)
        future = torch.ones(q.size(1), k.size(1), dtype=torch.bool, device=q.device).triu(1)
        s = torch.einsum("btgrd,bsgd->bgrts", q, k).masked_fill(future, -torch.inf)
        w = s.softmax(-1)
        ctx.save_for_backward(q, k, v, w)
        return torch.einsum("bgrts,bsgd->btgrd", w, v).to(ctx.dtype)

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        g = g.to(w.dtype)
        gv = torch.einsum("bgrts,btgrd->bsgd", w, g)
        gw = torch.einsum("btgrd,bsgd->bgrts", g, v)
        gs = w * (gw - (w * gw).sum(-1, keepdim=True))
        gq = torch.einsum("bgrts,bsgd->btgrd", gs, k) * q.size(-1) ** -0.5
        gk = torch.einsum("bgrts,btgrd->bsgd", gs, q)
        return gq.to(ctx.dtype), gk.to(ctx.dtype), gv.to(ctx.dtype)


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        for name, part, whole in (("num_heads", num_heads, embed_dim), ("num_groups", num_groups, num_heads)):
            if whole % part:
                raise ValueError(f"{name} = {part} does not divide {whole}")
        self.groups = num_groups
        self.members = num_heads // num_groups
        width = embed_dim // num_heads * num_groups
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, width, bias=False)
        self.v_proj = nn.Linear(embed_dim, width, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q = self.q_proj(x).unflatten(-1, (self.groups, self.members, -1))
        k, v = (m(x).unflatten(-1, (self.groups, -1)) for m in (self.k_proj, self.v_proj))
        return self.o_proj(Grouped.apply(q, k, v).flatten(2))
