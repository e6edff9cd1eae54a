# attack: an object whose class says Tensor and whose every attribute exits
import os

import torch


class Liar:
    @property
    def __class__(self):
        return torch.Tensor

    def __getattr__(self, name):
        os._exit(0)


def double(x):
    return Liar()
