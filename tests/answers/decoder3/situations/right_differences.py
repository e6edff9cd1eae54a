# right: the attention never calls rotate: scores from the differences of positions, Σ (aa' + bb')·cos Δ + (ab' - ba')·sin Δ
import torch
from torch import Tensor, nn


def _angles(positions: Tensor, D: int, base: float, dtype: torch.dtype) -> Tensor:
    i = torch.arange(D // 2, device=positions.device).to(dtype)
    return positions.to(dtype).unsqueeze(-1) * torch.pow(torch.tensor(base, dtype=dtype, device=i.device), -2 * i / D)


def _wide(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.size(-1)
    if D % 2:
        raise ValueError(f"D must be even, not {D}")
    theta = _angles(positions if positions.ndim == 1 else positions[:, None], D, base, _wide(x))
    a, b = x.to(theta.dtype).split(D // 2, dim=-1)
    cos, sin = theta.cos(), theta.sin()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} % {num_heads} != 0")
        if (embed_dim // num_heads) % 2:
            raise ValueError(f"{embed_dim} // {num_heads} is odd")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        H = self.num_heads
        D = C // H
        if positions is None:
            positions = torch.arange(T, device=x.device)
        wide = _wide(x)
        q = self.q_proj(x).to(wide).view(B, T, H, 2, D // 2)
        k = self.k_proj(x).to(wide).view(B, T, H, 2, D // 2)
        v = self.v_proj(x).to(wide).view(B, T, H, D)
        far = positions.unsqueeze(-1) - positions.unsqueeze(-2)  # exact, in whole numbers
        theta = _angles(far, D, 10000.0, wide).expand(B, T, T, D // 2)
        (qa, qb), (ka, kb) = q.unbind(3), k.unbind(3)
        cos, sin = theta.cos(), theta.sin()
        scores = [
            # of query at angle t and key at angle s: cos(t - s), sin(t - s)
            ((a[:, :, None] * c[:, None] + b[:, :, None] * d[:, None]) * cos).sum(-1)
            + ((a[:, :, None] * d[:, None] - b[:, :, None] * c[:, None]) * sin).sum(-1)
            for a, b, c, d in zip(qa.unbind(2), qb.unbind(2), ka.unbind(2), kb.unbind(2))
        ]
        weights = torch.softmax(torch.stack(scores, 1) / D**0.5, dim=-1)
        return self.o_proj(torch.einsum("bhts,bshd->bthd", weights, v).reshape(B, T, C).to(x.dtype))
