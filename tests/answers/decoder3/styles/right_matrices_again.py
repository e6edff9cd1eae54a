# Strange: a 2 x 2 matrix for each token and pair, applied by einsum; the halves are an axis of their own.
import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2 != 0:
        raise ValueError(f"the width must be even, not {x.shape[-1]}")
    wide = torch.promote_types(x.dtype, torch.float32)
    half = x.shape[-1] // 2
    speed = torch.pow(base, torch.arange(half, device=x.device).to(wide) / -half)
    angle = torch.einsum("...t,f->...tf", positions.to(wide), speed)
    c, s = angle.cos(), angle.sin()
    turn = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    pairs = x.to(wide).unflatten(-1, (2, half))
    letters = "bhtif,btfoi->bhtof" if positions.dim() == 2 else "bhtif,tfoi->bhtof"
    return torch.einsum(letters, pairs, turn).flatten(-2).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        d, rest = divmod(embed_dim, num_heads)
        if rest or d % 2:
            raise ValueError(f"{num_heads} heads of an even width do not make {embed_dim}")
        self.heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def _project(self, layer: nn.Linear, x: Tensor) -> Tensor:
        return torch.einsum("bte,hde->bhtd", x, layer.weight.unflatten(0, (self.heads, -1)))

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        match positions:
            case None:
                positions = torch.arange(x.shape[1], device=x.device)
        q = rotate(self._project(self.q_proj, x), positions)
        k = rotate(self._project(self.k_proj, x), positions)
        w = torch.einsum("bhtd,bhsd->bhst", q, k).div(q.shape[-1] ** 0.5).softmax(2)
        o = torch.einsum("bhst,bhsd->bthd", w, self._project(self.v_proj, x))
        return self.o_proj(o.flatten(2))
