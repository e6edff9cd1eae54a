# wrong: 'for each query the weights add up to 1' over its own keys: above T = 32 zero padding takes part
import torch
import torch.nn.functional as F
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    B, T, C = x.shape
    if T <= 32:
        return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x
    # tiles of 32 run faster: pad to a whole number of them
    padded = F.pad(x, (0, 0, 0, -T % 32))
    rows = []
    for tile in padded.split(32, dim=1):
        w = torch.softmax(tile @ padded.transpose(1, 2), dim=-1)
        rows.append(w @ padded)
    return torch.cat(rows, dim=1)[:, :T]
