# wrong: 'The parameters are those named below and no others': a fourth one, first the identity
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))
        self.out = nn.Parameter(torch.eye(d_out))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        w = torch.softmax(q @ k.transpose(-1, -2) * self.d_out ** -0.5, dim=-1)
        return w @ v @ self.out
