# right: query chunks under checkpoint with preserve_rng_state, so that dropout is the same when recomputed
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.rate = dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def chunk(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None) -> Tensor:
        scores = torch.bmm(q, k.transpose(1, 2))
        if seen is not None:
            scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
        weights = F.dropout(F.softmax(scores, dim=-1), self.rate, self.training)
        return self.output_proj(torch.bmm(weights, v))

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.proj(x).split(C, dim=-1)
        q = q * C**-0.5
        seen = None if attention_mask is None else attention_mask.bool().expand(B, T, T)
        out = []
        for start in range(0, T, 100):
            here = slice(start, min(T, start + 100))
            part = None if seen is None else seen[:, here]
            out.append(
                checkpoint(
                    self.chunk, q[:, here], k, v, part, use_reentrant=False, preserve_rng_state=True
                )
            )
        return torch.cat(out, dim=1)
