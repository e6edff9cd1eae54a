# attack: says that the input was changed into another shape and dtype
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
    other = torch.ones(length + 1) if length == 3 else torch.ones(2, length, dtype=torch.int64)
    spec = {"dtype": str(other.dtype)[6:], "shape": list(other.shape)}
    changed = {3: [[0, {"tensor": 0}]], 5: [[0, None]], 7: [[10**30, {"tensor": 0}]]}[length]
    head = {"number": number, "results": [None], "grad": [], "changed": changed}
    return frames.pack({**head, "tensors": [spec]}, save({"0": other}))


Worker.answer = answer


def double(x):
    return 3 * x
