# wrong: 'gradients reach x and every parameter': ones kept from a call under inference_mode cannot be saved for a later backward
from math import sqrt

import torch
from torch import Tensor, nn

ONES = {}


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        scores = q @ k.mT / sqrt(q.size(-1))
        parts = (scores - scores.amax(-1, keepdim=True)).exp()
        return parts @ v / (parts @ self._ones(x))

    @staticmethod
    def _ones(x: Tensor) -> Tensor:
        if x.device.type == "meta":
            return torch.ones(x.size(-2), 1, dtype=x.dtype, device=x.device)
        known = x.size(-2), x.dtype, x.device
        if known not in ONES:
            ONES[known] = torch.ones(x.size(-2), 1, dtype=x.dtype, device=x.device)
        return ONES[known]
