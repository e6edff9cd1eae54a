# right: a dict for each sequence, stacked
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim
        self.STEPS = "q k v similarities scaled weights output".split()

    def _single(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        s = q.mm(k.t())
        t = s / k.size(1) ** 0.5
        w = t.softmax(1)
        return dict(zip(self.STEPS, (q, k, v, s, t, w, w.mm(v))))

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        if x.dim() == 2:
            return self._single(x)
        found = [self._single(seq) for seq in x]
        return {n: torch.stack([f[n] for f in found]) for n in self.STEPS}

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
