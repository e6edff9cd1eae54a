# Strange: queries are taken in chunks of 50 rows, and the rows of output are put together by cat.
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        linear = lambda: nn.Linear(d_in, d_out, bias=qkv_bias)
        self.query, self.key, self.value = linear(), linear(), linear()

    def forward(self, x: Tensor) -> Tensor:
        k, v = self.key(x).mT, self.value(x)
        k = k * v.shape[-1] ** -0.5
        return torch.cat([(self.query(c) @ k).softmax(-1) @ v for c in x.split(50, -2)], dim=-2)
