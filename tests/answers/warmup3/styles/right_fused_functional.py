# Strange: the layers only hold weights; F.linear is called once on their cat, then tensor_split.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        for name in "query key value".split():
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))

    def forward(self, x: Tensor) -> Tensor:
        layers = list(self.children())
        weight = torch.cat([l.weight for l in layers])
        bias = None if layers[0].bias is None else torch.cat([l.bias for l in layers])
        q, k, v = F.linear(x, weight, bias).tensor_split(3, dim=-1)
        return F.softmax(q @ (k / k.shape[-1] ** 0.5).transpose(-2, -1), dim=-1) @ v
