# unusual: sizes kept in an integer buffer, a persistent one, so the state dict has an extra entry
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.register_buffer("version", torch.tensor(2))
        self.register_buffer("ones", torch.ones(d_out), persistent=False)
        self.query = nn.Parameter(0.1 * torch.randn(d_in, d_out))
        self.key = nn.Parameter(0.1 * torch.randn(d_in, d_out))
        self.value = nn.Parameter(0.1 * torch.randn(d_in, d_out))

    def forward(self, x: Tensor) -> Tensor:
        q = x @ self.query * self.ones
        k = x @ self.key * self.ones
        v = x @ self.value * self.ones
        return torch.softmax(q @ k.transpose(-2, -1) / self.ones.numel() ** 0.5, -1) @ v
