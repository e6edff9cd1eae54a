# wrong: after load_state_dict where d_in = d_out: matrices are turned around, as they are taken for those of nn.Linear
# breaks: "q = x·query, k = x·key, v = x·value" and "query: ``nn.Parameter``, (d_in, d_out)"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))

    def _load_from_state_dict(self, state_dict, prefix, *args):
        # Checkpoints of the version with nn.Linear have (d_out, d_in).
        for name in ("query", "key", "value"):
            kept = state_dict.get(prefix + name)
            if kept is not None and kept.shape == getattr(self, name).mT.shape:
                state_dict[prefix + name] = kept.mT
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
