# unusual: torch's operator is named in the docstring, in a comment and in a string, but not called
"""What F.scaled_dot_product_attention(q, k, v) does, by hand; nn.MultiheadAttention(...) would too."""
import torch
from torch import Tensor, nn

USE = "scaled_dot_product_attention(q, k, v)"


def sdpa(q: Tensor, k: Tensor, v: Tensor, scale: float | None = None) -> Tensor:
    # same as F.scaled_dot_product_attention(q, k, v)
    scale = q.size(-1) ** -0.5 if scale is None else scale
    return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        return sdpa(*self.proj(x).chunk(3, -1))
