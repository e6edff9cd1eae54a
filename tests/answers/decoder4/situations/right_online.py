# right: keys in blocks with a running maximum, and a sum that is made smaller as it grows
import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    def of(power: int) -> list[float]:
        return [2.0 ** (-8 * n / power) for n in range(1, power + 1)]

    lower = max(2**n for n in range(num_heads.bit_length()) if 2**n <= num_heads)
    return torch.tensor((of(lower) + of(2 * lower)[::2])[:num_heads])


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} is no multiple of {num_heads}")
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
            layer(x).view(B, T, H, D).transpose(1, 2).to(wide)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        slopes = alibi_slopes(H).to(x.device)[:, None, None]
        rows = torch.arange(T, device=x.device)[:, None]
        top = torch.full((B, H, T, 1), float("-inf"), device=x.device, dtype=wide)
        total, mixed = torch.zeros_like(top), torch.zeros_like(q)
        for start in range(0, T, 128):
            back = rows - torch.arange(start, min(start + 128, T), device=x.device)
            scores = q @ k[:, :, start : start + 128].mT * D**-0.5 - slopes * back
            scores = scores.masked_fill(back < 0, float("-inf"))
            higher = torch.maximum(top, scores.amax(-1, keepdim=True)).detach()
            powers, less = torch.exp(scores - higher), torch.exp(top - higher)
            total = total * less + powers.sum(-1, keepdim=True)
            mixed = mixed * less + powers @ v[:, :, start : start + 128]
            top = higher
        return self.o_proj((mixed / total).to(x.dtype).transpose(1, 2).reshape(B, T, C))
