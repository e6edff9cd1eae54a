# unusual: returns a slice of locals()
import torch
from torch import Tensor, nn
from operator import itemgetter

STEPS = "q k v similarities scaled weights output".split()


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.axes = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q = self.W_q(x)
        k = self.W_k(x)
        v = self.W_v(x)
        similarities = q @ k.swapdims(*self.axes)
        scaled = similarities * k.shape[self.axes[1]] ** -0.5
        weights = scaled.softmax(self.axes[1])
        output = weights @ v
        found = locals()
        return {step: found[step] for step in STEPS}

    def forward(self, x: Tensor) -> Tensor:
        return itemgetter("output")(self.intermediates(x))
