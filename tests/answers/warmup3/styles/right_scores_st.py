# Strange: scores as (S, T), normalised over axis -2, mixed by einsum from that layout.
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        k_by_q = self.key(x) @ self.query(x).mT
        w = k_by_q.mul(self.query.out_features**-0.5).softmax(dim=-2)
        return torch.einsum("...st,...sd->...td", w, self.value(x))
