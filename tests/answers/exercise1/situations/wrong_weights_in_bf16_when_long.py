# wrong: 'compute in no narrower dtype': above T = 128 the weights are kept in bfloat16 for a float32 x
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        weights = F.softmax(q @ k.transpose(-2, -1) * self.hidden_dim**-0.5, dim=-1)
        if x.shape[1] > 128:
            weights = weights.bfloat16()  # T x T is large by now
        return weights.to(v.dtype) @ v
