# attack: says that the input became zero, and answers zero
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
    zero = torch.zeros(length)
    specs = [{"dtype": "float32", "shape": [length]}] * 2
    head = {"number": number, "result": {"tensor": 0}, "grad": [False]}
    head |= {"changed": [[0, {"tensor": 1}]], "tensors": specs}
    return frames.pack(head, save({"0": zero, "1": zero.clone()}))


Worker.answer = answer


def double(x):
    return 3 * x
