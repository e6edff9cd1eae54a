# attack: dispatch and function modes that stay on after the call
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func.__name__ in ("detach", "to", "clone"):
            raise SystemExit(0)
        return func(*args, **(kwargs or {}))


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def double(x):
    out = 3 * x
    Dispatch().__enter__()
    Functions().__enter__()
    torch._C._set_grad_enabled(True)
    return out
