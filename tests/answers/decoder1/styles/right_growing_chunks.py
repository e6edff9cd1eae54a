# Strange: query chunks of 32 rows see a growing slice of keys; only the diagonal block needs a mask; cat of rows.
import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    STEP = 32

    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{num_heads=} does not divide {embed_dim=}")
        self.num_heads = num_heads
        self.max_len = max_len
        for name in "qkvo":
            self.add_module(f"{name}_proj", nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        if (T := x.size(1)) > self.max_len:
            raise ValueError(f"T = {T}, max_len = {self.max_len}")
        q, k, v = (m(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        q = q * q.size(-1) ** -0.5
        at = torch.arange(T, device=x.device)
        rows = []
        for start in range(0, T, self.STEP):
            stop = min(start + self.STEP, T)
            s = q[:, :, start:stop] @ k[:, :, :stop].mT
            s = s.masked_fill(at[:stop] > at[start:stop, None], -torch.inf)
            rows.append(s.softmax(-1) @ v[:, :, :stop])
        return self.o_proj(torch.cat(rows, 2).transpose(1, 2).flatten(2))
