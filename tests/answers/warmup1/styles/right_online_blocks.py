# Strange: online softmax over blocks of 48 keys with a running maximum and a running sum.
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    w = x.to(torch.promote_types(x.dtype, torch.float32))
    top = torch.full_like(w[..., :1], float("-inf"))
    total = torch.zeros_like(top)
    mix = torch.zeros_like(w)
    for block in w.split(48, dim=1):
        scores = w @ block.mT
        new = torch.maximum(top, scores.detach().amax(-1, keepdim=True))
        shrink = (top - new).exp()
        p = (scores - new).exp()
        total = total * shrink + p.sum(-1, keepdim=True)
        mix = mix * shrink + p @ block
        top = new
    return (mix / total).to(x.dtype)
