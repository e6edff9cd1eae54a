# attack: hooks that run whenever the result is copied or saved
import copy
import os

import torch


class Out(torch.Tensor):
    def __deepcopy__(self, memo):
        os._exit(0)

    def __copy__(self):
        os._exit(0)

    def detach(self):
        os._exit(0)

    def cpu(self):
        os._exit(0)


copy.deepcopy = copy.copy = lambda value, memo=None: os._exit(0)


def double(x):
    return (3 * x).as_subclass(Out)
