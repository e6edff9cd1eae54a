# attack: flags of gradients and numbers of graphs out of nowhere
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer

import json

import torch
from safetensors.torch import save


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    graph = {3: 10**400, 5: "9" * 5000, 7: -1}[length]
    spec = {"dtype": "float32", "shape": [length]}
    head = {"number": number, "result": {"tensor": 0}, "grad": [True], "changed": []}
    sys.set_int_max_str_digits(0)
    text = json.dumps({**head, "graph": graph, "tensors": [spec]}).encode()
    body = save({"0": torch.ones(length)})
    return frames._HEAD.pack(b"ADW1", len(text), len(body)) + text + body


Worker.answer = answer


def double(x):
    return 3 * x
