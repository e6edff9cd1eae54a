# Strange: itertools.accumulate folds an online softmax over blocks of 64 keys.
from itertools import accumulate

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = self.proj(x).to(wide).chunk(3, -1)
        q = q * q.size(-1) ** -0.5

        def fold(state, block):
            m, zo = state
            s = q @ block[0].mT
            n = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            p = (s - n).exp()
            return n, zo * (m - n).exp() + torch.cat([p.sum(-1, keepdim=True), p @ block[1]], -1)

        first = (torch.full_like(q[..., :1], -torch.inf), q.new_zeros(*q.shape[:2], q.size(2) + 1))
        *_, (_, zo) = accumulate(zip(k.split(64, 1), v.split(64, 1)), fold, initial=first)
        return (zo[..., 1:] / zo[..., :1]).to(x.dtype)
