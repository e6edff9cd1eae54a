# heads folded into the batch, bmm, exponentials by hand; everything in float64 in rotate
import math

import torch
from torch import Tensor, nn


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    D = x.shape[-1]
    if D & 1:
        raise ValueError(f"{D} features cannot be paired")
    powers = [base ** (-2 * i / D) for i in range(D // 2)]
    speeds = torch.tensor(powers, dtype=torch.float64, device=x.device)
    angles = positions.double().reshape(*positions.shape[:-1], 1, -1, 1) * speeds
    y = torch.empty(x.shape, dtype=torch.float64, device=x.device)
    low, high = x[..., : D // 2].double(), x[..., D // 2 :].double()
    y[..., : D // 2] = low * angles.cos() - high * angles.sin()
    y[..., D // 2 :] = high * angles.cos() + low * angles.sin()
    return y.to(x.dtype)


class RotarySelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads or (embed_dim // num_heads) % 2:
            raise ValueError(f"{embed_dim} features do not make {num_heads} heads of an even size")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        H, D = self.num_heads, self.head_dim
        positions = torch.arange(T, device=x.device) if positions is None else positions
        fused = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        q, k, v = (x @ fused.T).view(B, T, 3, H, D).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, positions), rotate(k, positions)
        q, k, v = (y.reshape(B * H, T, D) for y in (q, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)).mul(1 / math.sqrt(D))
        scores = (scores - scores.max(dim=-1, keepdim=True).values).exp()
        weights = scores / scores.sum(dim=-1, keepdim=True)
        out = torch.bmm(weights, v).view(B, H, T, D).permute(0, 2, 1, 3).flatten(2)
        return self.o_proj(out)
