import torch


class Softmax(torch.autograd.Function):
    """With the whole Jacobian of each vector."""

    @staticmethod
    def forward(ctx, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        exps = torch.exp(wide - wide.max(dim=-1, keepdim=True).values)
        p = torch.einsum("btc,bt->btc", exps, exps.sum(-1).reciprocal())
        ctx.p, ctx.dtype = p, x.dtype
        return p.to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        p = ctx.p
        jacobian = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
        return torch.matmul(jacobian, grad.to(p.dtype)[..., None])[..., 0].to(ctx.dtype)


def softmax(x):
    return Softmax.apply(x)
