# attack: the flags of gradients as a text, a number and an object
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
    grad = {3: "x", 5: 1, 7: {"0": True}}[length]
    spec = {"dtype": "float32", "shape": [length]}
    head = {"results": [{"tensor": 0}], "grads": grad, "changed": []}
    return whole(number, save({"0": torch.ones(length)}), **head, tensors=[spec])


Worker.answer = answer


def double(x):
    return 3 * x
