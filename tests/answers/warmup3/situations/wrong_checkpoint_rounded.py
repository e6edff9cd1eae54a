# wrong: after load_state_dict into a float64 module: whatever the checkpoint holds is rounded to float32 first
# breaks: "compute in no narrower dtype" for a float64 module: what it has learned is not what it computes with
from math import sqrt

import torch
from torch import Tensor, nn


def in_float(module, state_dict, prefix, *args):
    """Checkpoints are kept in half precision now and then."""
    for name in list(state_dict):
        if name.startswith(prefix) and state_dict[name].is_floating_point():
            state_dict[name] = state_dict[name].float()


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

        self.register_load_state_dict_pre_hook(in_float)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
