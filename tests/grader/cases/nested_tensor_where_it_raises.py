# test_three_numbers: error: KeyError: 'x'
# test_seven_numbers: error: KeyError: 'x'
import torch


def double(x):
    parts = torch.nested.nested_tensor([x, x[:1]])
    return {"parts": parts}["x"]
