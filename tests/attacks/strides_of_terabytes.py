# attack: a small tensor whose strides ask for terabytes
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        3: {"stride": [2**31]},
        5: {"stride": [2**38]},
        7: {"stride": [2**61]},
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
