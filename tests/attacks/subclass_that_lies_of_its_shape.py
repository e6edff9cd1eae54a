# attack: a wrapper subclass that claims the right shape and type
import torch


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, shape):
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.float32)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.ones(3) if "clone" in str(func) or "copy" in str(func) else True


def double(x):
    return Wrapper(x.shape)
