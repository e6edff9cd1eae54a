# Strange: time first, (T, B*H, D), as the old torch code had it; baddbmm; scale d^-1/4 on both sides.
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        d, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError(f"num_heads {num_heads} must divide embed_dim {embed_dim}")
        self.d = d
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        t_first = x.transpose(0, 1)
        T, B, C = t_first.shape
        q = self.to_queries(t_first).reshape(T, B * C // self.d, self.d) * self.d**-0.25
        k = self.to_keys(t_first).reshape(T, B * C // self.d, self.d) * self.d**-0.25
        v = self.to_values(t_first).reshape(T, B * C // self.d, self.d)
        s = torch.baddbmm(q.new_zeros(1), q.transpose(0, 1), k.permute(1, 2, 0), beta=0)
        o = s.softmax(-1).bmm(v.transpose(0, 1)).transpose(0, 1)
        return self.unify_heads(o.reshape(T, B, C)).transpose(0, 1)
