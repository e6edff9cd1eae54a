# right: online softmax, one key at a time
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    w = x.float() if x.dtype == torch.bfloat16 else x
    top = None
    for key in w.unbind(dim=1):
        s = (w * key.unsqueeze(1)).sum(-1, keepdim=True)
        if top is None:
            top, total, out = s, torch.ones_like(s), key.unsqueeze(1).expand_as(w)
            continue
        new = torch.maximum(top, s).detach()
        old_part, this = torch.exp(top - new), torch.exp(s - new)
        total = total * old_part + this
        out = out * old_part + this * key.unsqueeze(1)
        top = new
    return (out / total).to(x.dtype)
