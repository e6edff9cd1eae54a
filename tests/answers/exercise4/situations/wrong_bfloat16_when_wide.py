# wrong: from C = 768 on the scores of a float32 or float64 module are computed in bfloat16, so its values are off by 1e-2
# breaks: "compute in no narrower dtype, return the same one"
from math import sqrt

from torch import Tensor, nn

WIDE = 768  # features, from which the product q·kᵀ is the slowest step


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        C = x.size(-1)
        q, k, v = self.q(x), self.k(x), self.v(x)
        if C >= WIDE:
            scores = (q.bfloat16() @ k.bfloat16().mT).to(x.dtype) / sqrt(C)
        else:
            scores = q @ k.mT / sqrt(C)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return weights @ v
