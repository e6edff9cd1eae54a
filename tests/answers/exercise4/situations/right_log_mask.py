# right: the logarithm of the mask (0 or -inf) is added to the scores; log_softmax, then exp; one einsum for three
import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        layers = {name: nn.Linear(hidden_dim, hidden_dim) for name in ("q", "k", "v")}
        for name, layer in layers.items():
            self.register_module(name, layer)
        self.register_buffer("scale", torch.tensor(hidden_dim), persistent=False)  # an int: casts leave it
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        logits = torch.einsum("bqc,bkc->bqk", self.q(x), self.k(x)) * x.size(-1) ** -0.5
        if attention_mask is not None:
            logits = logits + (attention_mask != 0).to(logits.dtype).log()
        weights = torch.log_softmax(logits, dim=-1).exp()
        keep = self.dropout(torch.ones_like(weights))
        return torch.einsum("bqk,bqk,bkc->bqc", weights, keep, self.v(x))
