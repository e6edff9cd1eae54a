# wrong: 'q.k^T': the keys are reshaped to (B, C, T), not transposed
import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        weights = torch.softmax(q @ k.view(B, C, T) / C**0.5, dim=-1)
        return weights @ v
