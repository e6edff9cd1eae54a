# right: distances by a cumulative sum over a triangle, additive bias with -inf above, plain fused softmax in float32
import torch
from torch import Tensor, einsum, nn
from torch.nn.functional import softmax


def alibi_slopes(num_heads: int) -> Tensor:
    P = 1
    while 2 * P <= num_heads:
        P = P * 2
    slopes = torch.pow(2.0, -8.0 / P * torch.arange(1, P + 1, dtype=torch.float32))
    if P < num_heads:
        finer = torch.pow(2.0, -4.0 / P * torch.arange(1, 2 * P + 1, dtype=torch.float32))
        slopes = torch.cat((slopes, finer[::2][: num_heads - P]))
    return slopes


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("{} is not a multiple of {}".format(embed_dim, num_heads))
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.num_heads = num_heads

    def bias(self, T: int, device: torch.device) -> Tensor:
        seen = torch.ones(T, T, device=device, dtype=torch.float32).tril()
        # row t: t, t - 1, ..., 0, and then whatever: it is hidden below
        distance = seen.flip(1).cumsum(1).flip(1) - 1
        slopes = alibi_slopes(self.num_heads).to(device)
        bias = einsum("h,ts->hts", -slopes, distance)
        return bias.masked_fill(seen == 0, float("-inf"))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            p(x).unflatten(-1, (self.num_heads, -1)) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = einsum("bthd,bshd->bhts", q, k) / q.size(-1) ** 0.5
        weights = softmax(scores + self.bias(x.size(1), x.device), dim=-1)  # float32 or wider by promotion
        return self.o_proj(einsum("bhts,bshd->bthd", weights.to(x.dtype), v).flatten(-2))
