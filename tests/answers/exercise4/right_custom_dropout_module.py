# unusual: an own dropout module that follows train() and eval() by itself, and an own masked softmax
import torch
from torch import Tensor, nn


class InvertedDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, t: Tensor) -> Tensor:
        p = self.p if self.training else 0.0
        kept = torch.rand_like(t, dtype=torch.float32) > p if p else torch.ones_like(t, dtype=torch.bool)
        return torch.where(kept, t / (1 - p), 0.0)


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.drop = InvertedDropout(dropout_rate)
        for name in ("q", "k", "v"):
            self.register_module(name, nn.Linear(hidden_dim, hidden_dim))

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        logits = self.q(x).matmul(self.k(x).transpose(1, 2)).mul(x.size(2) ** -0.5)
        if attention_mask is not None:
            logits = logits.where(attention_mask.ne(0), logits.new_tensor(float("-inf")))
        log_total = logits.logsumexp(dim=2, keepdim=True)
        return self.drop((logits - log_total).exp()).matmul(self.v(x))
