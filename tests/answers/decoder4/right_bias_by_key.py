# unusual: slope · key position, as BLOOM has it (a row's constant is no matter); baddbmm
import torch
from torch import nn


def alibi_slopes(num_heads):
    power = 1
    while power * 2 <= num_heads:
        power *= 2
    exponents = [8 * (i + 1) / power for i in range(power)]
    exponents += [4 * (2 * i + 1) / power for i in range(num_heads - power)]
    return torch.tensor([0.5**e for e in exponents])


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim must be divisible by num_heads: {embed_dim} / {num_heads}")
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def fold(self, y):
        B, T, _ = y.shape
        y = y.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
        return y.reshape(B * self.num_heads, T, self.head_dim)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.fold(self.q_proj(x)), self.fold(self.k_proj(x)), self.fold(self.v_proj(x))
        wide = torch.promote_types(x.dtype, torch.float32)
        keys = torch.arange(T, device=x.device, dtype=wide)
        alibi = alibi_slopes(self.num_heads).to(x.device, wide)[:, None, None] * keys
        alibi = alibi.repeat(B, 1, 1)  # (B·H, 1, T)
        scores = torch.baddbmm(alibi, q.to(wide), k.to(wide).mT, alpha=self.head_dim**-0.5)
        past = torch.ones(T, T, device=x.device, dtype=torch.bool).tril()
        weights = scores.masked_fill(~past, torch.finfo(wide).min).softmax(-1).to(x.dtype)
        mixed = torch.bmm(weights, v).view(B, self.num_heads, T, self.head_dim)
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C))
