# attack: dtypes that are not those of the bytes, or no dtypes
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        3: {"dtype": "int64"},
        5: {"dtype": "__class__"},
        7: {"dtype": "bool"},
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
