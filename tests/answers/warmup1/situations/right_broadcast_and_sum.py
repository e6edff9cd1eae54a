# right: no matrix product: broadcasting and sums
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    q, k = x[:, :, None, :], x[:, None, :, :]
    w = (q * k).sum(dim=3).softmax(dim=2)
    return (w[..., None] * k).sum(dim=2)
