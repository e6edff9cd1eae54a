# wrong: the softmax is computed in float32 whatever the dtype, so a float64 x loses half its digits
# breaks: "``x`` is float32, float64 or bfloat16 (float16 is left open), on any device, even ``meta``: compute in no narrower dtype, return the same one, don't branch on values."

import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = x @ x.transpose(-2, -1)
    # the softmax in float32, for bfloat16's sake
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
    return weights @ x
