# Strange: the steps are a list of (name, function of the steps so far) that a loop fills in.
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.row_dim = row_dim
        self.col_dim = col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        r, c = self.row_dim, self.col_dim
        done: dict[str, Tensor] = {}
        for name, step in (
            ("q", lambda: self.W_q(x)),
            ("k", lambda: self.W_k(x)),
            ("v", lambda: self.W_v(x)),
            ("similarities", lambda: torch.matmul(done["q"], done["k"].swapaxes(r, c))),
            ("scaled", lambda: done["similarities"].mul(1 / math.sqrt(done["k"].shape[c]))),
            ("weights", lambda: torch.nn.functional.softmax(done["scaled"], dim=c)),
            ("output", lambda: torch.matmul(done["weights"], done["v"])),
        ):
            done[name] = step()
        return done

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x).popitem()[1]
