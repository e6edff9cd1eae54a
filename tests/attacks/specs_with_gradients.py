# attack: an answer that is said to require a gradient
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        n: {"requires_grad": True} for n in (3, 5, 7)
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
