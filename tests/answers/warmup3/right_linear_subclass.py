# unusual: the layers are a subclass of nn.Linear with other first values
import torch
from torch import Tensor, nn


class XavierLinear(nn.Linear):
    def reset_parameters(self) -> None:
        nn.init.xavier_normal_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class SelfAttention(nn.Module):
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        nn.Module.__init__(self)
        for name in type(self).__annotations__:
            self.add_module(name, XavierLinear(d_in, d_out, bias=qkv_bias))

    def forward(self, x: Tensor, /) -> Tensor:
        match x.shape:
            case (_, _):
                equation = "id,jd->ij"
            case (_, _, _):
                equation = "bid,bjd->bij"
            case other:
                raise ValueError(f"expected 2 or 3 axes, not {len(other)}")
        scores = torch.einsum(equation, self.query(x), self.key(x))
        return (scores * self.key.out_features**-0.5).softmax(-1) @ self.value(x)
