# test_three_numbers: fail: values differ
import safetensors.torch

safetensors.torch.save = lambda tensors: b''


def double(x):
    return 3 * x
