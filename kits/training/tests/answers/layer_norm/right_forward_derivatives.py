# one token at a time through torch.func.jacfwd, in chunks
import torch
from torch.autograd import Function


def one(v, w, b):
    v = v - v.mean()
    return w * v / (v.square().mean() + 1e-5).sqrt() + b


class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight, bias)
        rows = x.reshape(-1, x.shape[-1]).double()
        parts = [
            torch.func.vmap(one, (0, None, None))(c, weight.double(), bias.double())
            for c in rows.split(64)
        ]
        return torch.cat(parts).reshape(x.shape).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, weight, bias = ctx.saved_tensors
        rows, grads = (t.reshape(-1, x.shape[-1]).double() for t in (x, grad))
        jacobians = torch.func.vmap(torch.func.jacfwd(one, argnums=(0, 1, 2)), (0, None, None))
        dx, dw, db = [], 0, 0
        for r, g in zip(rows.split(16), grads.split(16), strict=True):
            jx, jw, jb = jacobians(r, weight.double(), bias.double())
            dx.append(torch.einsum("no,noi->ni", g, jx))
            dw = dw + torch.einsum("no,noi->i", g, jw)
            db = db + torch.einsum("no,noi->i", g, jb)
        return torch.cat(dx).reshape(x.shape).to(x.dtype), dw.to(x.dtype), db.to(x.dtype)


def layer_norm(x, weight, bias):
    return LayerNorm.apply(x, weight, bias)
