# wrong: 'nothing is remembered from one call to the next': a tensor refilled in place gets its old answer
import torch
from torch import Tensor

_seen: dict[int, tuple[Tensor, Tensor]] = {}


def self_attention(x: Tensor) -> Tensor:
    hit = _seen.get(id(x))
    if hit is not None and hit[0] is x:
        return hit[1]
    out = torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x
    _seen.clear()
    _seen[id(x)] = (x, out)
    return out
