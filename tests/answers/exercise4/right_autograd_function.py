# unusual: softmax with mask as an autograd.Function with its own backward
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores: Tensor, hidden: Tensor) -> Tensor:
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        (weights,) = ctx.saved_tensors
        return weights * (grad - (grad * weights).sum(-1, keepdim=True)), None


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / x.size(-1) ** 0.5
        hidden = torch.zeros((), dtype=torch.bool, device=x.device)
        if attention_mask is not None:
            hidden = attention_mask == 0
        return self.dropout(MaskedSoftmax.apply(scores, hidden)) @ self.v(x)
