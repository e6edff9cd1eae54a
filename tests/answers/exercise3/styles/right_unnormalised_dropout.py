# Strange: exponentials are dropped and mixed first, and divided by their undropped sum afterwards.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = self.proj(x).to(wide).chunk(3, dim=-1)
        s = torch.einsum("bic,bjc->bij", q, k) * q.size(-1) ** -0.5
        if attention_mask is not None:
            s = s.masked_fill(attention_mask == 0, torch.finfo(wide).min)
        e = torch.exp(s - s.detach().amax(-1, keepdim=True))
        mixed = F.dropout(e, self.rate, self.training) @ v / e.sum(-1, keepdim=True)
        return self.output_proj(mixed.to(x.dtype))
