# attack: a Tensor subclass that answers every function with itself
import torch


class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return args[0] if args else True

    def numel(self):
        return 0

    def element_size(self):
        return -1


def double(x):
    return (3 * x).as_subclass(Yes)
