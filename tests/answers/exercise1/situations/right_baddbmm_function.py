# right: autograd.Function for the attention with a hand-made backward, baddbmm(beta=0) for scaled scores
import torch
from torch import Tensor, nn


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        scale = q.size(-1) ** -0.5
        # beta=0: the first argument is ignored, whatever is in it
        scores = torch.baddbmm(q.new_empty(1, 1, 1), q, k.mT, beta=0, alpha=scale)
        weights = torch.softmax(scores, -1)
        return torch.bmm(weights, v), weights

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        q, k, v = inputs
        _, weights = output
        ctx.mark_non_differentiable(weights)
        ctx.save_for_backward(q, k, v, weights)

    @staticmethod
    def backward(ctx, grad: Tensor, _):
        q, k, v, weights = ctx.saved_tensors
        scale = q.size(-1) ** -0.5
        grad_weights = torch.bmm(grad, v.mT)
        inner = (grad_weights * weights).sum(-1, keepdim=True)
        grad_scores = weights * (grad_weights - inner) * scale
        return torch.bmm(grad_scores, k), torch.bmm(grad_scores.mT, q), torch.bmm(weights.mT, grad)


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.q = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        mixed, _ = Attend.apply(self.q(x), self.k(x), self.v(x))
        return mixed
