# right: the output is the derivative of logsumexp(scores) along the values
import torch
from torch import Tensor
from torch.func import jvp, vmap


def self_attention(x: Tensor) -> Tensor:
    wide = x.to(torch.promote_types(x.dtype, torch.float32))

    def sequence(seq: Tensor) -> Tensor:
        scores = seq @ seq.T

        def along(feature: Tensor) -> Tensor:
            return jvp(lambda s: s.logsumexp(-1), (scores,), (feature.expand_as(scores),))[1]

        return vmap(along, out_dims=-1)(seq.T)

    return torch.stack([sequence(seq) for seq in wide.unbind(0)]).to(x.dtype)
