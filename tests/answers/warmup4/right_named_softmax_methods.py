# unusual: one small method per step, defaults as class attributes, lists of axes permuted
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """Self-attention, one method per step."""

    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.row_dim = row_dim
        self.col_dim = col_dim
        kwargs = {"in_features": d_model, "out_features": d_model, "bias": False}
        self.W_q = nn.Linear(**kwargs)
        self.W_k = nn.Linear(**kwargs)
        self.W_v = nn.Linear(**kwargs)

    def swap(self, k: Tensor) -> Tensor:
        order = list(range(k.dim()))
        order[self.row_dim], order[self.col_dim] = order[self.col_dim], order[self.row_dim]
        return k.permute(*order)

    def normalise(self, scaled: Tensor) -> Tensor:
        return torch.exp(scaled - torch.logsumexp(scaled, self.col_dim, keepdim=True))

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        for name in "qkv":
            out[name] = getattr(self, f"W_{name}")(x)
        out["similarities"] = out["q"] @ self.swap(out["k"])
        out["scaled"] = out["similarities"] / float(out["k"].shape[self.col_dim]) ** 0.5
        out["weights"] = self.normalise(out["scaled"])
        out["output"] = out["weights"] @ out["v"]
        return out

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x).pop("output")
