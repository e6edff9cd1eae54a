# Strange: three F.linear on chunks of the weight, with 1/sqrt(C) folded into the query's weight and bias.
import math

from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        scale = 1 / math.sqrt(x.size(-1))
        (wq, wk, wv), (bq, bk, bv) = self.proj.weight.chunk(3), self.proj.bias.chunk(3)
        scores = F.linear(x, wq * scale, bq * scale) @ F.linear(x, wk, bk).mT
        return F.softmax(scores, -1) @ F.linear(x, wv, bv)
