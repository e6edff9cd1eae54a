# right: swapaxes and exp(log_softmax)
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        r, c = self.row_dim, self.col_dim
        d = {n[-1]: getattr(self, n)(x) for n in ("W_q", "W_k", "W_v")}
        d.update(similarities=d["q"] @ torch.swapaxes(d["k"], r, c))
        d.update(scaled=torch.div(d["similarities"], d["k"].shape[c] ** 0.5))
        d.update(weights=F.log_softmax(d["scaled"], c).exp())
        d.update(output=d["weights"].matmul(d["v"]))
        return d

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
