# Strange: a loop over the query heads; each picks its group by integer division; rows of o_proj by cat.
import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        match (embed_dim % num_heads, num_heads % num_groups):
            case (0, 0):
                pass
            case (0, _):
                raise ValueError(f"num_groups {num_groups} does not divide num_heads {num_heads}")
            case _:
                raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads, self.num_groups = num_heads, num_groups
        d = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * d, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * d, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        keys, values = (m(x).chunk(self.num_groups, -1) for m in (self.k_proj, self.v_proj))
        seen = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).tril()
        heads = []
        for i, q in enumerate(self.q_proj(x).chunk(self.num_heads, -1)):
            g = i * self.num_groups // self.num_heads
            s = q @ keys[g].mT / q.size(-1) ** 0.5
            heads.append(torch.where(seen, s, torch.finfo(s.dtype).min).softmax(-1) @ values[g])
        return self.o_proj(torch.cat(heads, -1))
