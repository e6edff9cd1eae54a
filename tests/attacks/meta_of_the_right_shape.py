# attack: a meta tensor of the right shape, whose values cannot be had
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        n: {"device": "meta", "shape": [n]} for n in (3, 5, 7)
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
