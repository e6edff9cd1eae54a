# unusual: works on columns: keys before queries, softmax over the second-last axis
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(d_in, d_out), a=5**0.5))
        self.key = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(d_in, d_out), a=5**0.5))
        self.value = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(d_in, d_out), a=5**0.5))
        self.scale = d_out**-0.5

    def forward(self, x: Tensor) -> Tensor:
        xt = x.transpose(-1, -2)                      # (.., d_in, T)
        q = self.query.T @ xt                         # (.., d_out, T)
        k = self.key.T @ xt
        v = self.value.T @ xt
        s = self.scale * (k.transpose(-1, -2) @ q)    # (.., keys, queries)
        return (v @ s.softmax(dim=-2)).transpose(-1, -2)
