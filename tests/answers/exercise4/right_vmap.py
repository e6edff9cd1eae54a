# unusual: one sequence at a time under vmap, with randomness="different" for the dropout
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        if attention_mask is None:
            attention_mask = torch.ones(T, dtype=torch.bool, device=x.device)
        hidden = (attention_mask == 0).expand(B, T, T)

        def attend(q, k, v, hidden):
            weights = (q @ k.T / C**0.5).masked_fill(hidden, float("-inf")).softmax(-1)
            return F.dropout(weights, self.dropout_rate, self.training) @ v

        return torch.vmap(attend, randomness="different")(self.q(x), self.k(x), self.v(x), hidden)
