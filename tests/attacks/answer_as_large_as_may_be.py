# attack: an answer as large as one may be
import torch


def double(x):
    return torch.ones((64 << 20) - 4096, dtype=torch.uint8)
