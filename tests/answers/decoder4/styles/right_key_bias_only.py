# Strange: slope*t is the same for a whole row and falls out of the softmax, so slope*s alone is added, in a wide dtype.
import math

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    p = 2 ** math.floor(math.log2(num_heads))
    exact = torch.arange(1, p + 1, dtype=torch.float64) * (-8 / p)
    between = torch.arange(1, 2 * p + 1, 2, dtype=torch.float64) * (-8 / (2 * p))
    return torch.exp2(torch.cat([exact, between[: num_heads - p]])).float()


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} % {num_heads} = {embed_dim % num_heads}")
        self.h = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[1]
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (torch.stack(m(x).to(wide).chunk(self.h, -1), 1) for m in (self.q_proj, self.k_proj, self.v_proj))
        rise = torch.outer(alibi_slopes(self.h).to(x.device, wide), torch.arange(T, device=x.device, dtype=wide))
        s = (q * q.size(-1) ** -0.5) @ k.mT + rise[:, None, :]
        future = torch.full((T, T), -torch.inf, dtype=wide, device=x.device).triu(1)
        o = (s + future).softmax(-1) @ v
        return self.o_proj(torch.cat(o.unbind(1), -1).to(x.dtype))
