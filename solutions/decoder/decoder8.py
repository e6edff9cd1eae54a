"""A decoder block as in Llama: RMSNorm before each sublayer, causal attention, SwiGLU, no biases.

A second way to SwiGLU: keep gate and up below one another in one weight and ``chunk`` what comes,
as many models do for speed. A second way to the block: the norm after each sum, as in exercise6,
which stands in the way of the gradient that the sums let through here.
"""

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    """Each vector divided by the root of its mean square: x / √(mean(x²) + eps) · weight.

    Source: Zhang, Sennrich 2019, eq. 4, arXiv:1910.07467
    """

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """Norm each vector of ``x``, with a batch dimension or without, (…, C) -> (…, C)."""
        # bfloat16 has 8 bits for a number: too few for a root that all features are divided by.
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # float64 stays what it is
        mean_square = wide.square().mean(dim=-1, keepdim=True)  # (…, C) -> (…, 1)
        # Inside the root eps bounds the gradient too: √ alone has an infinite slope at zeros.
        normed = wide * torch.rsqrt(mean_square + self.eps)
        return normed.to(x.dtype) * self.weight


class SwiGLU(nn.Module):
    """A gated feed-forward: down_proj(silu(gate_proj(x)) · up_proj(x)), silu(z) = z · sigmoid(z).

    Source: Shazeer 2020, eq. 6, arXiv:2002.05202
    """

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Send each vector through, with a batch dimension or without, (…, C) -> (…, C)."""
        # One branch says how far each hidden feature opens, the other what goes through.
        gate = F.silu(self.gate_proj(x))  # (…, C) -> (…, hidden_dim)
        return self.down_proj(gate * self.up_proj(x))  # (…, hidden_dim) -> (…, C)


class CausalSelfAttention(nn.Module):
    """H heads of softmax(q·kᵀ/√D)·v, concatenated in order, then ``o_proj``; D = C/H.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``.

    Source: Vaswani et al. 2017, section 3.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Attend to the past within each sequence of ``x``, (B, T, C) -> (B, T, C)."""
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.k_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        v = self.v_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        scores = q @ k.mT / sqrt(D)  # (B, H, T, D) x (B, H, D, T) -> (B, H, T, T)
        # Made on the way, so it is as long as x and lies where x does. The diagonal is not future.
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(diagonal=1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        mixed = weights @ v  # (B, H, T, T) x (B, H, T, D) -> (B, H, T, D)
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C))  # back first, then merge


class DecoderBlock(nn.Module):
    """One pre-norm block of width C.

    Source: Touvron et al. 2023, section 2.2, arXiv:2302.13971
    """

    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Add to ``x`` what attention finds, then what the feed-forward makes of the sum.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C); no position depends on what comes after it.
        """
        # Norms stand on the branches, never on the way through: x reaches the output as it is.
        h = x + self.attention(self.attention_norm(x))
        return h + self.ffn(self.ffn_norm(h))  # h: else what attention found would be lost
