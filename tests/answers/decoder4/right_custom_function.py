# unusual: a softmax with biases as an autograd.Function with a backward by hand
import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    if num_heads & (num_heads - 1) == 0:
        return torch.logspace(-8 / num_heads, -8, num_heads, base=2)
    lower = 1 << num_heads.bit_length() - 1
    both = [alibi_slopes(lower), alibi_slopes(2 * lower)[::2][: num_heads - lower]]
    return torch.cat(both)


class BiasedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, slopes):
        T = scores.size(-1)
        i = torch.arange(T, device=scores.device, dtype=slopes.dtype)
        ahead = i - i[:, None]
        weights = torch.softmax(
            (scores + slopes[:, None, None] * ahead).masked_fill(ahead > 0, float("-inf")), -1
        ).to(scores.dtype)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        inner = (grad * weights).sum(-1, keepdim=True)
        return weights * (grad - inner), None


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim={embed_dim} is no multiple of num_heads={num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            torch.stack(layer(x).chunk(self.num_heads, dim=-1), dim=1)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        slopes = alibi_slopes(self.num_heads).to(x.device)
        weights = BiasedSoftmax.apply(q @ k.mT / q.size(-1) ** 0.5, slopes)
        return self.o_proj(torch.cat((weights @ v).unbind(1), dim=-1))
