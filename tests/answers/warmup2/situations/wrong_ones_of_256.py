# wrong: 'any T from 1 to 257': a buffer of 256 ones sums the rows, too short at T = 257
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))
        self.register_buffer("ones", torch.ones(256, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        s = q @ k.transpose(-2, -1) / self.d_out ** 0.5
        e = torch.exp(s - s.amax(-1, keepdim=True))
        return (e @ v) / (e @ self.ones[: x.shape[-2]])
