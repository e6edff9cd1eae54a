# wrong: 'for each query the weights add up to 1': row sums lie along the keys (no keepdim), always
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    """softmax(x x^T) x by hand."""
    outputs = []
    for seq in x:
        scores = seq @ seq.T
        scores = scores - scores.max(dim=1, keepdim=True).values
        e = torch.exp(scores)
        outputs.append((e / e.sum(dim=1)) @ seq)
    return torch.stack(outputs)
