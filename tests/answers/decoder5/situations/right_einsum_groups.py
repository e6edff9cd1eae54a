# right: einsum with letters for group and member, the group last, additive mask from torch.full().triu(1)
import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        for small, large in ((num_heads, embed_dim), (num_groups, num_heads)):
            if large % small:
                raise ValueError(f"{small} does not divide {large}")
        D = embed_dim // num_heads
        self.q_shape = (num_groups, num_heads // num_groups, D)
        self.kv_shape = (num_groups, D)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q = self.q_proj(x).unflatten(2, self.q_shape)
        k = self.k_proj(x).unflatten(2, self.kv_shape)
        v = self.v_proj(x).unflatten(2, self.kv_shape)
        T = x.size(1)
        mask = torch.full((T, T), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
        scores = torch.einsum("btgrd,bsgd->brtsg", q, k) / self.kv_shape[1] ** 0.5
        weights = torch.softmax(scores + mask[..., None], dim=-2)
        return self.o_proj(torch.einsum("brtsg,bsgd->btgrd", weights, v).flatten(2))
