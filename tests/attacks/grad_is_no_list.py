# attack: the flags of gradients as a text, a number and an object
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer

import torch
from safetensors.torch import save


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    grad = {3: "x", 5: 1, 7: {"0": True}}[length]
    spec = {"dtype": "float32", "shape": [length]}
    head = {"number": number, "result": {"tensor": 0}, "grad": grad, "changed": []}
    return frames.pack({**head, "tensors": [spec]}, save({"0": torch.ones(length)}))


Worker.answer = answer


def double(x):
    return 3 * x
