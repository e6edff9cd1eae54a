# Strange: vmap over groups and over the batch of a function of (R*T, D) rows; logsumexp softmax in a wide dtype.
import torch
from torch import Tensor, nn


def _group(q: Tensor, k: Tensor, v: Tensor, late: Tensor) -> Tensor:
    s = (q @ k.T / k.size(1) ** 0.5).masked_fill(late, -torch.inf)
    return (s - s.logsumexp(1, keepdim=True)).exp() @ v


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
        wide = torch.promote_types(x.dtype, torch.float32)
        B, T, C = x.shape
        q = self.q_proj(x).to(wide).unflatten(2, (self.G, -1, self.D)).permute(0, 2, 3, 1, 4)
        R = q.size(2)
        k, v = (m(x).to(wide).unflatten(2, (self.G, self.D)) for m in (self.k_proj, self.v_proj))
        at = torch.arange(T, device=x.device)
        late = at > at.repeat(R)[:, None]
        over_groups = torch.vmap(_group, in_dims=(0, 1, 1, None))
        o = torch.vmap(over_groups, in_dims=(0, 0, 0, None))(q.flatten(2, 3), k, v, late)
        return self.o_proj(o.unflatten(2, (R, T)).permute(0, 3, 1, 2, 4).reshape(B, T, C).to(x.dtype))
