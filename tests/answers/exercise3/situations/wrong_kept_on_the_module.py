# wrong: 'nothing is remembered from one call to the next' - the softmax keeps its weights on the module: of two calls the first gets the second's gradients
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, owner):
        weights = scores.softmax(-1)
        ctx.owner, owner.kept = owner, weights.detach()
        return weights

    @staticmethod
    def backward(ctx, grad):
        weights = ctx.owner.kept
        return weights * (grad - (grad * weights).sum(-1, keepdim=True)), None


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = Softmax.apply(scores, self)
        weights = F.dropout(weights, self.rate, self.training)
        return self.output_proj(weights @ v)
