# right: a function of one sequence, vmapped when there is a batch; parameters made by register_parameter
import torch
from torch import Tensor, nn
from torch.func import vmap


def head(x: Tensor, *w: Tensor) -> Tensor:
    q, k, v = map(x.mm, w)
    return torch.mm(q, k.t()).mul(q.size(1) ** -0.5).softmax(1).mm(v)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        for name in ("query", "key", "value"):
            self.register_parameter(name, nn.Parameter(torch.empty(d_in, d_out)))
            nn.init.xavier_normal_(self.get_parameter(name))

    def forward(self, x: Tensor) -> Tensor:
        run = head if x.dim() == 2 else vmap(head, in_dims=(0, None, None, None))
        return run(x, *(p for _, p in sorted(self.named_parameters(recurse=False), key=lambda it: "qkv".index(it[0][0]))))
