# attack: tensors of layouts and kinds that no exercise asks for
import torch


def double(x):
    if len(x) == 3:
        return torch.nested.nested_tensor([x, 3 * x])
    if len(x) == 5:
        return torch.quantize_per_tensor(3 * x, 0.1, 0, torch.qint8)
    return torch.complex(x, x).conj().imag
