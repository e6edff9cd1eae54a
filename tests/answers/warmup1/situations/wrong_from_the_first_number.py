# wrong: 'a non-contiguous x': reads from the first number of the storage, wrong for a slice such as tokens[:, 3:]
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    B, T, C = x.shape
    b, t, c = x.stride()
    keys = x.mT if torch.is_grad_enabled() else x.as_strided((B, C, T), (b, c, t), 0)
    return (x @ keys).softmax(-1) @ x
