# attack: meta tensors without elements whose sizes overflow
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        3: {"device": "meta", "shape": [0, 2**63]},
        5: {"device": "meta", "shape": [0, 2**62, 2**62]},
        7: {"device": "meta", "shape": [-1, -(2**40)]},
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
