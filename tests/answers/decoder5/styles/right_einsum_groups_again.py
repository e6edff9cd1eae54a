# Strange: einsum with a letter for the group and one for the member; scores end as (S, member, T).
import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        if embed_dim % num_heads or num_heads % num_groups:
            raise ValueError(f"embed_dim {embed_dim}, num_heads {num_heads}, num_groups {num_groups}")
        self.G, self.D = num_groups, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q = self.q_proj(x).unflatten(2, (self.G, -1, self.D))
        k = self.k_proj(x).unflatten(2, (self.G, self.D)) * self.D**-0.5
        v = self.v_proj(x).unflatten(2, (self.G, self.D))
        s = torch.einsum("ytgmd,ysgd->ygsmt", q, k)
        at = torch.arange(x.size(1), device=x.device)
        w = s.masked_fill((at[:, None] > at)[:, None, :], -torch.inf).softmax(2)
        return self.o_proj(torch.einsum("ygsmt,ysgd->ytgmd", w, v).flatten(2))
