# wrong: when one sequence of the batch has a NaN or an infinity: all the others become NaN as well, as scores are brought to size by the peak of the whole batch
# breaks: "The sequences of a batch don't see each other."
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    # Products of large vectors may overflow on the way: bring x to size, by a power of two.
    peak = x.detach().abs().amax().clamp_min(1)
    unit = peak.log2().ceil().exp2()
    small = x / unit
    scores = (small @ small.mT) * unit * unit
    return scores.softmax(dim=-1) @ x
