# right: two more features of q and k whose product is the bias, counted from the middle
import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    power = 2 ** (num_heads.bit_length() - 1)
    own = torch.linspace(8 / power, 8, power)
    between = torch.linspace(4 / power, 8 - 4 / power, power)[: num_heads - power]
    return torch.exp2(-torch.cat([own, between]))


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} is not divisible by {num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (
            layer(x).view(B, T, H, D).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        places = torch.arange(T, device=x.device, dtype=wide) - T // 2
        slopes = alibi_slopes(H).to(x.device, wide)
        one = torch.ones(B, H, T, 1, device=x.device, dtype=wide)
        of_query = slopes[:, None, None].expand(B, H, T, 1)
        q = torch.cat([q.to(wide) * D**-0.5, of_query], -1)
        k = torch.cat([k.to(wide), places[:, None] * one], -1)
        scores = (q @ k.mT).masked_fill(places > places[:, None], float("-inf"))
        mixed = scores.softmax(-1).to(x.dtype) @ v
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C))
