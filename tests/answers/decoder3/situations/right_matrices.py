# right: a 2×2 rotation matrix for each token and pair, einsum; speeds as Python floats, rounded to float32 once
import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    *_, D = x.shape
    if D % 2 != 0:
        raise ValueError("cannot make pairs of %d features" % D)
    wide = torch.promote_types(x.dtype, torch.float32)
    speeds = torch.tensor([base ** (-2 * i / D) for i in range(D // 2)], dtype=wide, device=x.device)
    angles = torch.outer(positions.reshape(-1).to(wide), speeds).reshape(*positions.shape, D // 2)
    angles = angles.expand(x.size(0), x.size(2), D // 2)  # (B, T, P), whatever came
    cos, sin = angles.cos(), angles.sin()
    matrix = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    pairs = x.to(wide).unflatten(-1, (2, D // 2))
    return torch.einsum("btpij,bhtjp->bhtip", matrix, pairs).flatten(-2).to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        D, rest = divmod(embed_dim, num_heads)
        match (rest, D % 2):
            case (0, 0):
                self.num_heads = num_heads
            case (0, _):
                raise ValueError(f"D = {embed_dim} / {num_heads} = {D} is odd")
            case _:
                raise ValueError(f"{num_heads} heads for {embed_dim} features")
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device, dtype=torch.int32)
        def cut(t):
            return torch.stack(t.chunk(self.num_heads, dim=-1), dim=1)
        q, k, v = cut(self.q_proj(x)), cut(self.k_proj(x)), cut(self.v_proj(x))
        both = rotate(torch.cat((q, k), dim=1), positions)  # rotated together, as more heads
        q, k = both.chunk(2, dim=1)
        weights = torch.einsum("bhtd,bhsd->bhts", q, k).div(q.size(3) ** 0.5).softmax(3)
        return self.o_proj(torch.cat((weights @ v).unbind(1), dim=-1))
