# Strange: dropout by comparing float32 random numbers; the softmax by logsumexp; masked_fill with -inf.
import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.rate = dropout_rate
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (layer(x).to(wide) for layer in (self.q, self.k, self.v))
        s = torch.einsum("btc,bsc->bts", q, k) / k.size(-1) ** 0.5
        if attention_mask is not None:
            s = s.masked_fill(attention_mask == 0, -torch.inf)
        w = (s - s.logsumexp(-1, keepdim=True)).exp()
        if self.training:
            lives = torch.rand(w.shape, device=w.device) >= self.rate
            w = torch.where(lives, w / (1 - self.rate), 0)
        return (w @ v).to(x.dtype)
