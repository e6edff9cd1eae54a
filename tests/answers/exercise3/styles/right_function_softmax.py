# Strange: a masked softmax as an autograd.Function that takes a mask and knows its own gradient.
import torch
from torch import Tensor, nn


class MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, s, see):
        s = s.to(torch.promote_types(s.dtype, torch.float32))
        if see is not None:
            s = torch.where(see, s, -torch.inf)
        e = (s - s.amax(-1, keepdim=True).clamp(min=torch.finfo(s.dtype).min)).exp()
        z = e.sum(-1, keepdim=True)
        w = e / z.masked_fill(z == 0, 1)
        ctx.save_for_backward(w)
        return w

    @staticmethod
    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return w * (g - (w * g).sum(-1, keepdim=True)), None


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.drop = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, -1)
        wide = torch.promote_types(x.dtype, torch.float32)
        scores = q.to(wide) @ k.to(wide).mT * x.size(-1) ** -0.5
        see = None if attention_mask is None else attention_mask != 0
        w = self.drop(MaskedSoftmax.apply(scores, see))
        return self.output_proj((w @ v.to(wide)).to(x.dtype))
