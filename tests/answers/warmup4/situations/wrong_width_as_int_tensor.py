# wrong: 'compute in no narrower dtype': torch.tensor(size) ** 0.5 is a float32 root, for a float64 module
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
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = torch.matmul(q, k.transpose(dim0=self.row_dim, dim1=self.col_dim))
        scaled = similarities / torch.tensor(k.size(self.col_dim)) ** 0.5
        weights = F.softmax(scaled, dim=self.col_dim)
        output = torch.matmul(weights, v)
        return {"q": q, "k": k, "v": v, "similarities": similarities, "scaled": scaled, "weights": weights, "output": output}

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
