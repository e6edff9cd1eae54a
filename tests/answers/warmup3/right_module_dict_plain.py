# unusual: layers also kept in a plain dict that torch doesn't see
import torch
from torch import nn, Tensor


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.layers = {"q": self.query, "k": self.key, "v": self.value}
        self.activation = lambda s: torch.softmax(s, dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        made = {name: layer(x) for name, layer in self.layers.items()}
        scores = made["q"] @ made["k"].mT
        return self.activation(scores.div(self.query.out_features**0.5)) @ made["v"]
