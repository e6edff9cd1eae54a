# unusual: dropout acts on the numerators only (exp), with bernoulli_, and the division by the sum comes last
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.keep = 1.0 - dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        s = (q / x.shape[-1] ** 0.5) @ k.mT
        if attention_mask is not None:
            s = s.masked_fill(attention_mask.eq(0), float("-inf"))
        e = (s - s.amax(-1, keepdim=True)).exp()
        total = e.sum(-1, keepdim=True)
        if self.training and self.keep < 1:
            e = e * torch.empty_like(e).bernoulli_(self.keep) / self.keep
        return self.output_proj((e @ v) / total)
