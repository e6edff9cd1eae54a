# right: keys in even and odd places, merged by a sigmoid of the difference of their log-sum-exps
import math

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
        up = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (m(x).to(up) for m in (self.q, self.k, self.v))

        def part(start: int) -> tuple[Tensor, Tensor]:
            s = q @ k[:, start::2].mT / math.sqrt(self.hidden_dim)
            return s.softmax(-1) @ v[:, start::2], s.logsumexp(-1, keepdim=True)

        even, log_even = part(0)
        if x.shape[1] > 1:
            odd, log_odd = part(1)
            share = torch.sigmoid(log_odd - log_even)
            even = torch.lerp(even, odd, share)
        return even.to(x.dtype)
