# attack: the serialiser of tensors says that there are none
import sys

import safetensors.torch

safetensors.torch.save = lambda *args, **kwargs: b""
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").endswith("wire.values"):
        module.save = safetensors.torch.save


def double(x):
    return 3 * x
