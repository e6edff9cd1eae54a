# wrong: 'compute in no narrower dtype': 1/sqrt(d_out) is rounded to float32 in a buffer, for a float64 module
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))
        self.register_buffer("scale", torch.tensor(float(d_out)).rsqrt(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1) @ v
