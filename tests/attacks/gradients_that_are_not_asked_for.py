# attack: flags of gradients and numbers of graphs out of nowhere
import sys

frames = sys.modules["grader.wire.frames"]
Worker = sys.modules["grader.worker.handler"].RequestHandler
honest = Worker.answer

import json

import torch


def save(tensors):
    parts = (bytes(t.reshape(-1).view(torch.uint8).tolist()) for t in tensors.values())
    return b"".join(part.ljust(-(-len(part) // 8) * 8, b"\0") for part in parts)


def answer(self, request, body):
    if type(request.steps[-1].operation).__name__ != "Call":
        return honest(self, request, body)
    number, length = request.number, request.steps[-1].tensors[0].shape[0]
    graph = {3: 10**400, 5: "9" * 5000, 7: -1}[length]
    spec = {"dtype": "float32", "shape": [length]}
    head = {"results": [{"tensor": 0}], "grads": [True], "changed": []}
    sys.set_int_max_str_digits(0)
    body = save({"0": torch.ones(length)})
    answer = {"is": "called", **head, "graph": graph, "tensors": [spec], "size": len(body)}
    text = json.dumps({"number": number, "answers": [answer]}).encode()
    return frames._HEAD.pack(b"ADW1", len(text), len(body)) + text + body


Worker.answer = answer


def double(x):
    return 3 * x
