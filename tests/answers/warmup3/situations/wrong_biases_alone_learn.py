# wrong: with qkv_bias=True, when the biases alone learn (weights frozen, x needs no gradient): no graph is made, and they get no gradient
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        layers = (self.query, self.key, self.value)
        learns = x.requires_grad or any(layer.weight.requires_grad for layer in layers)
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns):  # no graph in vain
            q, k, v = (layer(x) for layer in layers)
            return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
