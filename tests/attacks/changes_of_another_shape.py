# attack: says that the input was changed into another shape and dtype
import torch


def reply(number, length):
    other = torch.ones(length + 1) if length == 3 else torch.ones(2, length, dtype=torch.int64)
    spec = {"dtype": str(other.dtype)[6:], "shape": list(other.shape)}
    changed = {3: [[0, {"tensor": 0}]], 5: [[0, None]], 7: [[10**30, {"tensor": 0}]]}[length]
    head = {"results": [None], "grads": [], "changed": changed}
    return whole(number, save(other), **head, tensors=[spec])
