# Strange: dropout by torch.bernoulli of a float32 tensor, and a mask applied by multiplication and addition.
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.keep = 1 - dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = torch.split(self.proj(x), x.size(-1), dim=-1)
        s = (q * x.size(-1) ** -0.5) @ k.mT
        if attention_mask is not None:
            see = attention_mask.bool()
            s = s * see + (~see).to(s.dtype) * torch.finfo(s.dtype).min
        w = s.softmax(-1)
        if self.training and self.keep < 1:
            w = w * torch.bernoulli(torch.full_like(w, self.keep, dtype=torch.float32)).to(w.dtype) / self.keep
        return self.output_proj(w @ v)
