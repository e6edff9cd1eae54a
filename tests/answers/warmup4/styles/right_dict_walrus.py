# Strange: one dict display with walrus operators makes all seven steps.
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        return {
            "q": (q := self.W_q(x)),
            "k": (k := self.W_k(x)),
            "v": (v := self.W_v(x)),
            "similarities": (s := q @ k.transpose(self.row_dim, self.col_dim)),
            "scaled": (z := s / k.size(self.col_dim) ** 0.5),
            "weights": (w := z.softmax(self.col_dim)),
            "output": w @ v,
        }

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
