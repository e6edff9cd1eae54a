# unusual: einsum over named axes, slopes in a buffer that is not saved, hidden by where
import torch
from torch import Tensor, einsum, nn


def alibi_slopes(num_heads: int) -> Tensor:
    closest = 1 << (num_heads.bit_length() - 1)
    base = 2.0 ** (-8.0 / closest)
    powers = torch.arange(1, closest + 1, dtype=torch.float32)
    slopes = base**powers
    if closest < num_heads:
        extra_base = 2.0 ** (-4.0 / closest)
        missing = num_heads - closest
        extra = extra_base ** torch.arange(1, 2 * missing, 2, dtype=torch.float32)
        slopes = torch.cat([slopes, extra])
    return slopes


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be shared among {num_heads} heads")
        self.H = num_heads
        self.register_buffer("slopes", alibi_slopes(num_heads), persistent=False)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (p(x).unflatten(-1, (self.H, -1)) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = einsum("bthd,bshd->bhts", q, k) * q.size(-1) ** -0.5
        i = torch.arange(x.size(1), device=x.device, dtype=torch.float32)
        back = i[:, None] - i[None, :]
        biased = scores - einsum("h,ts->hts", self.slopes.float(), back)
        hidden = torch.full_like(biased, float("-inf"))
        weights = torch.where(back >= 0, biased, hidden).softmax(-1).type_as(v)
        return self.o_proj(einsum("bhts,bshd->bthd", weights, v).flatten(-2))
