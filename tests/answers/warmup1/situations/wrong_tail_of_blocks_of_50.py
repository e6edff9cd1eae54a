# wrong: 'any T from 1 to 257': queries go in blocks of 50 and a tail x[:, -(T % 50):], which is all of x where T divides by 50: (B, 2T, C) comes
import torch
from torch import Tensor

BLOCK = 50


def self_attention(x: Tensor) -> Tensor:
    T = x.size(1)
    blocks = [x[:, i : i + BLOCK] for i in range(0, T - BLOCK + 1, BLOCK)]
    tail = x[:, -(T % BLOCK) :]
    done = [(q @ x.mT).softmax(-1) @ x for q in (*blocks, tail)]
    return torch.cat(done, 1)
