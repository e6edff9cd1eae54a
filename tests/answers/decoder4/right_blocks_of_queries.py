# unusual: queries in blocks, each against the keys up to its end, so that no (T, T) is ever made
import torch
from torch import Tensor, nn

BLOCK = 48


def alibi_slopes(num_heads: int) -> Tensor:
    n = 1
    while n << 1 <= num_heads:
        n <<= 1
    exponents = torch.cat([torch.arange(2, 2 * n + 1, 2), torch.arange(1, 2 * n, 2)])[:num_heads]
    return torch.exp2(exponents * (-4.0 / n))


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim=} {num_heads=}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        H = self.num_heads
        q, k, v = (
            layer(x).reshape(B, T, H, C // H).movedim(2, 1)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        slopes = alibi_slopes(H).to(x.device).reshape(H, 1, 1)
        parts = []
        for start in range(0, T, BLOCK):
            end = min(start + BLOCK, T)
            rows = torch.arange(start, end, device=x.device).unsqueeze(-1)
            back = rows - torch.arange(end, device=x.device)
            scores = q[:, :, start:end] @ k[:, :, :end].mT * (C // H) ** -0.5
            scores = (scores - slopes * back).masked_fill(back.lt(0), float("-inf"))
            parts.append(torch.softmax(scores, -1).to(v) @ v[:, :, :end])
        return self.o_proj(torch.cat(parts, dim=2).movedim(1, 2).reshape(B, T, C))
