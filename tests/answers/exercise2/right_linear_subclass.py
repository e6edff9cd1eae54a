# unusual: the fused layer is a subclass of nn.Linear that hands out three tensors when called
import torch
from torch import Tensor, nn


class QKV(nn.Linear):
    def __init__(self, width: int) -> None:
        super().__init__(width, 3 * width)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return super().forward(x).chunk(3, dim=-1)


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = QKV(hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x)
        return (q @ k.transpose(-2, -1) / k.size(-1) ** 0.5).softmax(-1) @ v
