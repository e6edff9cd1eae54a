# right: a masked softmax as autograd.Function with its own backward; empty rows give zeros; dropout by comparison
import torch
from torch import Tensor, nn


class MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores: Tensor, seen: Tensor) -> Tensor:
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
        wide = wide.masked_fill(~seen, -torch.inf)
        weights = torch.softmax(wide, -1).masked_fill(~seen.any(-1, keepdim=True), 0)
        ctx.save_for_backward(weights)
        return weights.to(scores.dtype)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (weights,) = ctx.saved_tensors
        wide = grad.to(weights.dtype)
        flow = weights * (wide - torch.linalg.vecdot(wide, weights).unsqueeze(-1))
        return flow.to(grad.dtype), None


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.p = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        scores = torch.matmul(self.q(x), self.k(x).mT) / C**0.5
        if attention_mask is None:
            seen = torch.ones_like(scores, dtype=torch.bool)
        else:
            seen = torch.ne(attention_mask, 0).expand(B, T, T)
        weights = MaskedSoftmax.apply(scores, seen)
        if self.training and self.p:
            dropped = torch.rand(B, T, T, device=x.device) < self.p
            weights = weights.masked_fill(dropped, 0.0) / (1 - self.p)
        return weights @ self.v(x)
