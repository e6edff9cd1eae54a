# right: weight rows per head, and no concatenation: the heads are added after their columns of unify_heads
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.D, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError(f"{embed_dim} features cannot be shared among {num_heads} heads")
        for name in ("to_queries", "to_keys", "to_values", "unify_heads"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        out = 0
        for Q, K, V, U in zip(
            self.to_queries.weight.split(self.D),
            self.to_keys.weight.split(self.D),
            self.to_values.weight.split(self.D),
            self.unify_heads.weight.split(self.D, dim=1),
        ):
            q, k, v = F.linear(x, Q), F.linear(x, K), F.linear(x, V)
            weights = F.softmax(q.matmul(k.mT).mul(self.D**-0.5), -1)
            out = out + F.linear(weights @ v, U)
        return out
