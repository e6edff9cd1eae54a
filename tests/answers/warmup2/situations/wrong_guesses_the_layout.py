# wrong: 'x: One sequence (T, d_in), or a batch': taken for features first when T = d_in
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out) * 0.02))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2] == self.d_in:  # (B, d_in, T): features came first
            x = x.transpose(-2, -1)
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.d_out ** 0.5, dim=-1)
        return weights @ v
