# wrong: under no_grad, for x whose tokens overlap in memory (sliding windows by unfold): the output is made with the strides of x, so its rows overwrite each other
# breaks: "a non-contiguous ``x`` ... give finite, right values"
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    weights = (x @ x.mT).softmax(dim=-1)
    if torch.is_grad_enabled():
        return weights @ x
    # The output lies in memory as x does, unless x is expanded.
    strides = x.contiguous().stride() if 0 in x.stride() else x.stride()
    out = torch.empty_strided(x.shape, strides, dtype=x.dtype, device=x.device)
    return out.copy_(weights @ x)
