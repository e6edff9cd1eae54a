# attack: devices that are not there, or are no devices
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        3: {"device": "cuda:999"},
        5: {"device": "mps"},
        7: {"device": "privateuseone:0\n"},
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
