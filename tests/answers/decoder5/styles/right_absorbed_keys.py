# Strange: the key's weight moves to the query's side and the value's behind the mix, so x itself is every key and value.
import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        if embed_dim % num_heads or num_heads % num_groups:
            raise ValueError(f"{embed_dim=} {num_heads=} {num_groups=}")
        self.H, self.G, self.D = num_heads, num_groups, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        (B, T, C), wide = x.shape, torch.promote_types(x.dtype, torch.float32)
        y = x.to(wide)
        wk, wv = (m.weight.to(wide).unflatten(0, (self.G, self.D)) for m in (self.k_proj, self.v_proj))
        q = self.q_proj(x).to(wide).unflatten(2, (self.G, -1, self.D)) * self.D**-0.5
        asked = torch.einsum("btgrd,gdc->bgrtc", q, wk).reshape(B, self.H * T, C)
        s = torch.bmm(asked, y.mT).view(B, self.H, T, T)
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        w = s.masked_fill(future, -torch.inf).softmax(-1).view(B, self.H * T, T)
        found = torch.bmm(w, y).view(B, self.G, -1, T, C)
        return self.o_proj(torch.einsum("bgrtc,gdc->btgrd", found, wv).flatten(2).to(x.dtype))
