# wrong: for a float32 x where torch's default dtype was set to bfloat16 (as is done to load large models): all is computed in bfloat16
# breaks: "compute in no narrower dtype"
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    # Half precision is computed in full precision, float64 stays what it is.
    work = x if x.dtype == torch.float64 else x.to(torch.get_default_dtype())
    scores = work @ work.mT
    return (scores.softmax(dim=-1) @ work).to(x.dtype)
