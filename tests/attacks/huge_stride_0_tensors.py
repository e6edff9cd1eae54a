# attack: many tensors that claim 10**12 elements each, of no memory
import torch


def double(x):
    return [torch.zeros(1).expand(10**6, 10**6) for _ in range(3000)]
