# right: the fused layer is never called: F.linear on slices of its weight and bias, √C from numpy
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.parts = [slice(i * hidden_dim, (i + 1) * hidden_dim) for i in range(3)]
        self.root = float(np.sqrt(hidden_dim))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (F.linear(x, self.proj.weight[part], self.proj.bias[part]) for part in self.parts)
        scores = torch.matmul(q, k.permute(0, 2, 1)).true_divide(self.root)
        return torch.matmul(F.softmax(scores, 2), v)
