# Strange: a match statement on the mask, torch.where with finfo.min, the scale folded into k.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(hidden_dim, hidden_dim) for _ in range(3))
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        s = self.q(x) @ (self.k(x) * x.shape[-1] ** -0.5).mT
        match attention_mask:
            case None:
                pass
            case Tensor():
                s = torch.where(attention_mask.ne(0), s, s.new_tensor(torch.finfo(s.dtype).min))
        return F.dropout(F.softmax(s, -1), self.dropout_rate, self.training) @ self.v(x)
