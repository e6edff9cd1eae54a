# wrong: for T from 193 to 224: seven blocks of keys leave three partial results, of which only the last two are merged, so the first 128 keys are lost
# breaks: "any T from 1 to 257 ... give finite, right values"
import torch
from torch import Tensor

BLOCK = 32
Part = tuple[Tensor, Tensor, Tensor]  # the largest score, the sum, the mixture


def merge(one: Part, other: Part) -> Part:
    top = torch.maximum(one[0], other[0])
    a, b = (one[0] - top).exp(), (other[0] - top).exp()
    return top, one[1] * a + other[1] * b, one[2] * a + other[2] * b


def self_attention(x: Tensor) -> Tensor:
    stack: list[tuple[int, Part]] = []
    for keys in x.split(BLOCK, dim=1):
        scores = x @ keys.mT
        top = scores.detach().amax(-1, keepdim=True)
        shares = (scores - top).exp()
        part, blocks = (top, shares.sum(-1, keepdim=True), shares @ keys), 1
        # Merge equals with equals, as a binary counter carries: sums of like size round least.
        while stack and stack[-1][0] == blocks:
            part, blocks = merge(stack.pop()[1], part), 2 * blocks
        stack.append((blocks, part))
    _, total, mixed = stack[-1][1] if len(stack) == 1 else merge(stack[-2][1], stack[-1][1])
    return mixed / total
