# unusual: one query after the other, with or without a batch
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        context = torch.zeros_like(v)
        for i in range(x.shape[-2]):
            scores = (k @ q[..., i, :, None]).squeeze(-1)          # (.., T)
            weights = torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1)
            context[..., i, :] = (weights[..., None] * v).sum(dim=-2)
        return context
