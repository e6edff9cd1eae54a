# attack: says that the input became zero, and answers zero
import torch


def reply(number, length):
    zero = torch.zeros(length)
    specs = [{"dtype": "float32", "shape": [length]}] * 2
    head = {"results": [{"tensor": 0}], "grads": [False]}
    head |= {"changed": [[0, {"tensor": 1}]], "tensors": specs}
    return whole(number, save(zero, zero.clone()), **head)
