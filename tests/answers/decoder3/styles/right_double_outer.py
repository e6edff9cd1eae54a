# Strange: angles in float64 whatever comes in, by torch.outer on flat positions; sin and cos by stack and flatten.
import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    b, h, t, d = x.shape
    if d % 2 == 1:
        raise ValueError(f"odd width {d}")
    speed = base ** (torch.arange(d // 2, device=x.device, dtype=torch.float64) * (-2.0 / d))
    angle = torch.outer(positions.reshape(-1).double(), speed).reshape(-1, 1, t, d // 2)
    x1, x2 = x.double().unflatten(-1, (2, -1)).unbind(-2)
    turned = torch.stack((x1 * angle.cos() - x2 * angle.sin(), x2 * angle.cos() + x1 * angle.sin()), dim=-2)
    return turned.flatten(-2).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if embed_dim // num_heads % 2:
            raise ValueError(f"{embed_dim} / {num_heads} is odd")
        self.num_heads = num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        if positions is None:
            positions = torch.ones(x.size(1), dtype=torch.int64, device=x.device).cumsum(0) - 1
        q, k, v = (torch.stack(m(x).chunk(self.num_heads, 2), 1) for m in (self.q_proj, self.k_proj, self.v_proj))
        s = rotate(q, positions).double() @ rotate(k, positions).double().mT / q.size(-1) ** 0.5
        o = (s - s.logsumexp(-1, keepdim=True)).exp() @ v.double()
        return self.o_proj(torch.cat(o.to(x.dtype).unbind(1), -1))
