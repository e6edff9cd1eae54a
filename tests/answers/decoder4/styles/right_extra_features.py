# Strange: the bias is a further feature: queries carry their slope, keys carry -(T - 1 - s); a row's constant falls out.
import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    p = 2 ** (num_heads.bit_length() - 1)
    numerators = [2 * i for i in range(1, p + 1)] + [2 * i - 1 for i in range(1, num_heads - p + 1)]
    return torch.tensor([2.0 ** (-4.0 * n / p) for n in numerators])


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        (B, T, C), H = x.shape, self.num_heads
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (m(x).to(wide).unflatten(2, (H, -1)).transpose(1, 2) for m in (self.q_proj, self.k_proj, self.v_proj))
        slope = alibi_slopes(H).to(x.device, wide).view(1, H, 1, 1).expand(B, H, T, 1)
        place = (torch.arange(T, device=x.device) - (T - 1)).to(wide).view(1, 1, T, 1).expand(B, H, T, 1)
        q = torch.cat([q * q.size(-1) ** -0.5, slope], -1)
        k = torch.cat([k, place], -1)
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        w = (q @ k.mT).masked_fill(future, torch.finfo(wide).min).softmax(-1)
        return self.o_proj((w @ v).transpose(1, 2).flatten(2).to(x.dtype))
