# right: torch.func.functional_call with the layers' own parameters, bmm on a padded batch axis
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        made = []
        for layer in self.children():
            made.append(torch.func.functional_call(layer, dict(layer.named_parameters()), (x,)))
        q, k, v = (t if t.dim() == 3 else t.unsqueeze(0) for t in made)
        out = q.bmm(k.transpose(1, 2)).div(math.sqrt(self.d_out)).softmax(2).bmm(v)
        return out.view(x.shape[:-1] + (self.d_out,))
