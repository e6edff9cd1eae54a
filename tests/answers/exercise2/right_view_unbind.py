# unusual: unflatten to (B, T, 3, C), moved to the front and unpacked
import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).unflatten(-1, (3, -1)).permute(2, 0, 1, 3)
        return torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v
