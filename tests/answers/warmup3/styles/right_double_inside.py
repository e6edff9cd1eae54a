# Strange: float64 inside whatever comes in, functional_call-like linear by hand, and cast back at the end.
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    @staticmethod
    def _apply_wide(layer: nn.Linear, x: Tensor) -> Tensor:
        y = torch.inner(x, layer.weight.double())
        return y if (b := layer.bias) is None else y + b.double()

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self._apply_wide(m, x.double()) for m in (self.query, self.key, self.value))
        s = torch.einsum("...id,...jd->...ij", q, k) / k.size(-1) ** 0.5
        e = (s - s.amax(-1, keepdim=True)).exp()
        return ((e / e.sum(-1, keepdim=True)) @ v).to(x.dtype)
