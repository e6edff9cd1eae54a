# unusual: parameters registered by name in a loop, own softmax, a recursive call for batches
import torch
from torch import Tensor
from torch.nn import Module, Parameter, init


class SelfAttention(Module):
    names = ("query", "key", "value")

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        for name in self.names:
            self.register_parameter(name, Parameter(torch.zeros((d_in, d_out))))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name in self.names:
            init.trunc_normal_(getattr(self, name), std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 3:
            return torch.stack([self.forward(one) for one in x])
        q, k, v = [torch.mm(x, getattr(self, name)) for name in self.names]
        logits = torch.mm(q, k.t()).div(k.shape[1] ** 0.5)
        e = (logits - logits.amax(1, keepdim=True)).exp()
        return torch.mm(e / e.sum(1, keepdim=True), v)
