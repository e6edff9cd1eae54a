# attack: flags of gradients and numbers of graphs out of nowhere
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer

import json

import torch


def save(tensors):
    parts = (bytes(t.reshape(-1).view(torch.uint8).tolist()) for t in tensors.values())
    return b"".join(part.ljust(-(-len(part) // 8) * 8, b"\0") for part in parts)


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    graph = {3: 10**400, 5: "9" * 5000, 7: -1}[length]
    spec = {"dtype": "float32", "shape": [length]}
    head = {"number": number, "results": [{"tensor": 0}], "grad": [True], "changed": []}
    sys.set_int_max_str_digits(0)
    text = json.dumps({**head, "graph": graph, "tensors": [spec]}).encode()
    body = save({"0": torch.ones(length)})
    return frames._HEAD.pack(b"ADW1", len(text), len(body)) + text + body


Worker.answer = answer


def double(x):
    return 3 * x
