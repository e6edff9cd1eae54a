# attack: says that the input was changed into another shape and dtype
import sys

frames = sys.modules["grader.wire.frames"]
Worker = sys.modules["grader.worker.handler"].RequestHandler
honest = Worker.answer

import torch


def save(tensors):
    parts = (bytes(t.reshape(-1).view(torch.uint8).tolist()) for t in tensors.values())
    return b"".join(part.ljust(-(-len(part) // 8) * 8, b"\0") for part in parts)


def whole(number, body=b"", kind="called", **answer):
    head = {"is": kind, **answer, "size": len(body)}
    return frames.pack({"number": number, "answers": [head]}, body)


def answer(self, request, body):
    if type(request.steps[-1].operation).__name__ != "Call":
        return honest(self, request, body)
    number, length = request.number, request.steps[-1].tensors[0].shape[0]
    other = torch.ones(length + 1) if length == 3 else torch.ones(2, length, dtype=torch.int64)
    spec = {"dtype": str(other.dtype)[6:], "shape": list(other.shape)}
    changed = {3: [[0, {"tensor": 0}]], 5: [[0, None]], 7: [[10**30, {"tensor": 0}]]}[length]
    head = {"results": [None], "grads": [], "changed": changed}
    return whole(number, save({"0": other}), **head, tensors=[spec])


Worker.answer = answer


def double(x):
    return 3 * x
