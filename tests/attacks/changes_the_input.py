# attack: says that the input became zero, and answers zero
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer

import torch


def save(tensors):
    parts = (bytes(t.reshape(-1).view(torch.uint8).tolist()) for t in tensors.values())
    return b"".join(part.ljust(-(-len(part) // 8) * 8, b"\0") for part in parts)


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    zero = torch.zeros(length)
    specs = [{"dtype": "float32", "shape": [length]}] * 2
    head = {"number": number, "results": [{"tensor": 0}], "grad": [False]}
    head |= {"changed": [[0, {"tensor": 1}]], "tensors": specs}
    return frames.pack(head, save({"0": zero, "1": zero.clone()}))


Worker.answer = answer


def double(x):
    return 3 * x
