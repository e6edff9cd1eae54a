# Strange: the rotation is an autograd.Function whose backward is the same rotation by the opposite angle.
import torch
from torch import Tensor, nn


def _turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.to(cos.dtype).tensor_split(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return _turn(x, cos, sin)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        return _turn(g, cos, -sin), None, None


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.size(-1) % 2:
        raise ValueError(f"D must be even: {x.size(-1)}")
    wide = torch.promote_types(x.dtype, torch.float32)
    power = torch.arange(0, x.size(-1), 2, device=x.device, dtype=wide) / x.size(-1)
    angle = positions[..., None].to(wide) / torch.pow(base, power)
    angle = angle if angle.ndim == 2 else angle[:, None]
    return Turn.apply(x, angle.cos(), angle.sin())


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads or (embed_dim // num_heads) % 2:
            raise ValueError(f"{embed_dim=} and {num_heads=} do not fit")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        positions = torch.arange(x.size(1), device=x.device) if positions is None else positions
        q, k, v = (
            layer(x).reshape(x.size(0), x.size(1), self.num_heads, -1).permute(0, 2, 1, 3)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = (rotate(t, positions) * t.size(-1) ** -0.25 for t in (q, k))
        out = torch.vmap(lambda a, b, c: (a @ b.mT).softmax(-1) @ c)(q, k, v)
        return self.o_proj(out.permute(0, 2, 1, 3).flatten(2))
