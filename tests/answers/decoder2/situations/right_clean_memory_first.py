# right: padding is zeroed in memory before anything is projected, the softmax by hand with 1 instead of an empty sum
import torch
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        D, rest = divmod(embed_dim, num_heads)
        if rest != 0:
            raise ValueError(f"{embed_dim} = {num_heads} · {D} + {rest}")
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(wide, embed_dim, bias=False)
            for wide in (embed_dim, memory_dim, memory_dim, embed_dim)
        )
        self.D = D

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        S = memory.size(1)
        if memory_mask is None:
            real = memory.new_ones((B, S), dtype=torch.bool)
        else:
            real = memory_mask.to(torch.bool)
        memory = torch.where(real.unsqueeze(-1), memory, torch.zeros_like(memory))
        wide = torch.promote_types(x.dtype, torch.float32)
        q = self.q_proj(x).to(wide).view(B, T, C // self.D, self.D)
        k = self.k_proj(memory).to(wide).view(B, S, C // self.D, self.D)
        v = self.v_proj(memory).to(wide).view(B, S, C // self.D, self.D)
        scores = torch.einsum("bthd,bshd->bths", q, k) * self.D**-0.5
        real = real[:, None, None, :]
        floor = torch.finfo(wide).min
        top = scores.detach().masked_fill(~real, floor).amax(-1, keepdim=True)
        top = top.masked_fill(~real.any(-1, keepdim=True), 0)
        powers = (scores - top).masked_fill(~real, float("-inf")).exp()
        total = powers.sum(-1, keepdim=True)
        shares = powers / (total + (total == 0).to(wide))
        return self.o_proj(torch.einsum("bths,bshd->bthd", shares, v).to(x.dtype).reshape(B, T, C))
