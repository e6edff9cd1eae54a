# Strange: a loop over heads on chunks of the weights; each head's share of unify_heads is summed in a wide dtype.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim} features")
        self.num_heads = num_heads
        for name in ("to_queries", "to_keys", "to_values", "unify_heads"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        h = self.num_heads
        wide = torch.promote_types(x.dtype, torch.float32)
        out = 0.0
        for wq, wk, wv, wo in zip(
            self.to_queries.weight.chunk(h),
            self.to_keys.weight.chunk(h),
            self.to_values.weight.chunk(h),
            self.unify_heads.weight.chunk(h, dim=1),
        ):
            q, k, v = (F.linear(x, w).to(wide) for w in (wq, wk, wv))
            out = out + ((q @ k.mT / q.size(-1) ** 0.5).softmax(-1) @ v) @ wo.to(wide).T
        return out.to(x.dtype)
