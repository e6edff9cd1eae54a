# attack: shapes that are negative, empty, of 5000 dimensions
import torch


def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]} | {
        3: {"shape": [-3]},
        5: {"shape": []},
        7: {"shape": [1] * 5000},
    }[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])
