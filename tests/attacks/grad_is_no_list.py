# attack: the flags of gradients as a text, a number and an object
import torch


def reply(number, length):
    grad = {3: "x", 5: 1, 7: {"0": True}}[length]
    spec = {"dtype": "float32", "shape": [length]}
    head = {"results": [{"tensor": 0}], "grads": grad, "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
