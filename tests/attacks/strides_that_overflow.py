# attack: strides that are huge, negative, or more than the sizes
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        3: {"stride": [2**64]},
        5: {"stride": [1, 0]},
        7: {"stride": [-1]},
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
