# unusual: all three matrices start as slices of the identity, so nothing is drawn at random
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        for name in "query key value".split():
            setattr(self, name, nn.Parameter(torch.eye(d_in, d_out)))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x.matmul(self.query), x.matmul(self.key), x.matmul(self.value)
        root = k.size(-1) ** 0.25
        return ((q / root) @ (k / root).transpose(-2, -1)).softmax(dim=-1) @ v
