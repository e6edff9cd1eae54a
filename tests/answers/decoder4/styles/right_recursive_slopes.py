# Strange: slopes by recursion; the bias lies as (H, S, T) for scores (S, T), with a softmax over axis -2.
import torch
from torch import Tensor, nn


def _slopes(n: int) -> list[float]:
    if n & (n - 1) == 0:
        return [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]
    p = 1 << (n.bit_length() - 1)
    return _slopes(p) + _slopes(2 * p)[::2][: n - p]


def alibi_slopes(num_heads: int) -> Tensor:
    return torch.tensor(_slopes(num_heads), dtype=torch.float32)


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
        at = torch.arange(x.size(1), device=x.device)
        far = at[None, :] - at[:, None]
        q, k, v = (
            m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        slopes = alibi_slopes(self.num_heads).to(x.device, wide)[:, None, None]
        s = (k @ q.mT).to(wide) / q.size(-1) ** 0.5 - slopes * far
        w = s.masked_fill(far < 0, -torch.inf).softmax(-2).to(x.dtype)
        return self.o_proj(torch.einsum("bhst,bhsd->bthd", w, v).flatten(2))
