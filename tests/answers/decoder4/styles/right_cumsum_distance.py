# Strange: distances are a cumulative sum of the causal mask; baddbmm adds the bias to the scaled scores.
import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    p = 1
    while 2 * p <= num_heads:
        p *= 2
    ratio = 2.0 ** (-8.0 / p)
    half = ratio**0.5
    powers = [ratio ** (i + 1) for i in range(p)] + [half ** (2 * i + 1) for i in range(num_heads - p)]
    return torch.tensor(powers)


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
        past = torch.ones(T, T, device=x.device, dtype=wide).tril()
        distance = past.flip(-1).cumsum(-1).flip(-1) - 1
        bias = -alibi_slopes(H).to(device=x.device, dtype=wide).view(H, 1, 1) * distance
        bias = torch.where(past.bool(), bias, -torch.inf).repeat(B, 1, 1)
        q, k, v = (
            m(x).to(wide).reshape(B, T, H, C // H).transpose(1, 2).flatten(0, 1)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        w = torch.baddbmm(bias, q, k.mT, alpha=(C // H) ** -0.5).softmax(-1)
        return self.o_proj(torch.bmm(w, v).unflatten(0, (B, H)).transpose(1, 2).flatten(2).to(x.dtype))
