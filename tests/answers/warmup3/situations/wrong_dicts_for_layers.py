# wrong: always: query, key and value are dicts of parameters, no layers, so module.query(x) raises and what is done to every nn.Linear passes them by
# breaks: "query: ``nn.Linear(d_in, d_out, bias=qkv_bias)``" and "what the layers ``query``, ``key`` and ``value`` make of x"
from math import sqrt

import torch
from torch import Tensor, nn


def layer(d_in: int, d_out: int, bias: bool) -> nn.ParameterDict:
    bound = 1 / sqrt(d_in)
    made = nn.ParameterDict()
    made["weight"] = torch.empty(d_out, d_in).uniform_(-bound, bound)
    if bias:
        made["bias"] = torch.zeros(d_out)
    return made


def project(x: Tensor, layer: nn.ParameterDict) -> Tensor:
    return nn.functional.linear(x, layer["weight"], layer["bias"] if "bias" in layer else None)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = layer(d_in, d_out, qkv_bias)
        self.key = layer(d_in, d_out, qkv_bias)
        self.value = layer(d_in, d_out, qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (project(x, one) for one in (self.query, self.key, self.value))
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
