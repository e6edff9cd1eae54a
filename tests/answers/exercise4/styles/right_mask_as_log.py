# Strange: the mask is a log: log(1) = 0 and log(0) = -inf are added to the scores.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.p = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        quarter = x.size(-1) ** 0.25
        s = torch.bmm(self.q(x) / quarter, (self.k(x) / quarter).mT)
        if attention_mask is not None:
            s = s + (attention_mask != 0).to(s.dtype).log()
        return F.dropout(s.softmax(-1), self.p, self.training).bmm(self.v(x))
