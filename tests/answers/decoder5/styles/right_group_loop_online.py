# Strange: a loop over groups, rows of all members at once, and an online softmax over key blocks inside.
import torch
from torch import Tensor, nn


def _group(q: Tensor, k: Tensor, v: Tensor, at: Tensor) -> Tensor:
    B, T, R, D = q.shape
    q = q.transpose(1, 2).reshape(B, R * T, D) * D**-0.5
    rows = at.repeat(R)[:, None]
    m = q.new_full((B, R * T, 1), torch.finfo(q.dtype).min)
    z, o = torch.zeros_like(m), torch.zeros_like(q)
    for kb, vb, ab in zip(k.split(80, 1), v.split(80, 1), at.split(80)):
        s = (q @ kb.mT).masked_fill(ab > rows, -torch.inf)
        top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
        c, p = (m - top).exp(), (s - top).exp()
        z, o, m = z * c + p.sum(-1, keepdim=True), o * c + p @ vb, top
    return (o / z).unflatten(1, (R, T)).transpose(1, 2)


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        if embed_dim % num_heads or num_heads % num_groups:
            raise ValueError(f"{embed_dim}, {num_heads} and {num_groups} do not divide each other")
        self.G, self.D = num_groups, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, self.G * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, self.G * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        q = self.q_proj(x).to(wide).unflatten(-1, (self.G, -1, self.D)).unbind(2)
        k, v = (m(x).to(wide).unflatten(-1, (self.G, self.D)).unbind(2) for m in (self.k_proj, self.v_proj))
        at = torch.arange(x.size(1), device=x.device)
        o = torch.stack([_group(*parts, at) for parts in zip(q, k, v)], 2)
        return self.o_proj(o.flatten(2).to(x.dtype))
