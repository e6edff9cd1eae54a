# attack: a small tensor whose strides ask for terabytes
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
    spec = {"dtype": "float32", "shape": [length]} | {
        3: {"stride": [2**31]},
        5: {"stride": [2**38]},
        7: {"stride": [2**61]},
    }[length]
    head = {"number": number, "results": [{"tensor": 0}], "grad": [False], "changed": []}
    return frames.pack({**head, "tensors": [spec]}, save({"0": torch.ones(length)}))


Worker.answer = answer


def double(x):
    return 3 * x
