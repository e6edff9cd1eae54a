# unusual: numpy names throughout (axis, swapaxes, newaxis), numpy imported for one constant
import numpy as np
import torch


def softmax(a, axis=-1):
    shifted = a - torch.amax(a, axis=axis, keepdims=True)
    e = torch.exp(shifted)
    return e / torch.sum(e, axis=axis, keepdims=True)


def self_attention(x):
    scores = torch.sum(x[:, :, np.newaxis] * x[:, np.newaxis], axis=-1)
    return torch.matmul(softmax(scores), x)
