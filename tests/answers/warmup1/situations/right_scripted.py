# right: torch.jit.script on the graded function itself, an online softmax over blocks of keys
import torch
from torch import Tensor


@torch.jit.script
def self_attention(x: Tensor) -> Tensor:
    """Flash-attention in slow motion: the maximum, the sum and the mix are corrected as we go."""
    wide = x
    if x.dtype == torch.bfloat16:
        wide = x.to(torch.float32)
    T = x.size(1)
    top = torch.full([x.size(0), T, 1], -float("inf"), dtype=wide.dtype, device=x.device)
    total = torch.zeros_like(top)
    mix = torch.zeros_like(wide)
    start = 0
    while start < T:
        block = wide[:, start : start + 50]
        s = torch.matmul(wide, block.transpose(1, 2))
        new_top = torch.maximum(top, s.detach().amax(-1, True))
        e = torch.exp(s - new_top)
        fix = torch.exp(top - new_top)
        total = total * fix + e.sum(-1, True)
        mix = mix * fix + torch.matmul(e, block)
        top = new_top
        start += 50
    return (mix / total).to(x.dtype)
