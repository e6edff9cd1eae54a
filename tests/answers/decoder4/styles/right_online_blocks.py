# Strange: an online softmax over key blocks, where each block makes its own piece of bias; slopes by itertools.
from itertools import chain, islice

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    p = 2 ** (num_heads.bit_length() - 1)
    first = (2 ** (-8 * i / p) for i in range(1, p + 1))
    between = (2 ** (-4 * i / p) for i in range(1, 2 * p, 2))
    return torch.tensor(list(islice(chain(first, between), num_heads)), dtype=torch.float32)


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (
            m(x).to(wide).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        q = q / q.size(-1) ** 0.5
        slope = alibi_slopes(self.num_heads).to(x.device, wide)[:, None, None]
        at = torch.arange(x.size(1), device=x.device)
        m = torch.full_like(q[..., :1], torch.finfo(wide).min)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for kb, vb, sb in zip(k.split(128, 2), v.split(128, 2), at.split(128)):
            back = at[:, None] - sb
            s = (q @ kb.mT - slope * back).masked_fill(back < 0, -torch.inf)
            top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            c, p = (m - top).exp(), (s - top).exp()
            z, o, m = z * c + p.sum(-1, keepdim=True), o * c + p @ vb, top
        return self.o_proj((o / z).to(x.dtype).transpose(1, 2).flatten(2))
