import torch


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        scale = q.size(-1) ** -0.5
        weights = (q @ k.mT * scale).softmax(-1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        scale = q.size(-1) ** -0.5
        d_weights = grad @ v.mT
        d_scores = weights * (d_weights - (d_weights * weights).sum(-1, keepdim=True)) * scale
        return d_scores @ k, d_scores.mT @ q, weights.mT @ grad
