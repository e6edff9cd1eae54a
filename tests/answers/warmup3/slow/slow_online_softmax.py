"""Online softmax: each query walks over the keys one by one, with a running maximum and sum."""

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

    def one_sequence(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        queries = list(self.query(x).to(wide))
        keys = list(self.key(x).to(wide))
        values = list(self.value(x).to(wide))
        outputs = []
        for q in queries:
            top = None
            for k, v in zip(keys, values):
                score = (q * k).sum() / math.sqrt(self.d_out)
                if top is None:
                    top = score.detach()
                    weight = torch.exp(score - top)
                    total = weight
                    mix = weight * v
                else:
                    new_top = torch.maximum(top, score.detach())
                    shrink = torch.exp(top - new_top)
                    weight = torch.exp(score - new_top)
                    total = total * shrink + weight
                    mix = mix * shrink + weight * v
                    top = new_top
            outputs.append(mix / total)
        return torch.stack(outputs).to(x.dtype)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            return self.one_sequence(x)
        outputs = []
        for sequence in x:
            outputs.append(self.one_sequence(sequence))
        return torch.stack(outputs)
