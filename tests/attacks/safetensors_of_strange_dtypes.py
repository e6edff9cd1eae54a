# attack: bytes in dtypes that safetensors knows and torch does not
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer

import json
import struct


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    name = {3: "F4", 5: "F8_E8M0", 7: "F6_E2M3"}[length]
    shape, size = {3: ([2], 1), 5: ([1], 1), 7: ([4], 3)}[length]
    entry = {"dtype": name, "shape": shape, "data_offsets": [0, size]}
    text = json.dumps({"0": entry}).encode()
    spec = {"dtype": "float32", "shape": [length]}
    head = {"number": number, "result": {"tensor": 0}, "grad": [False], "changed": []}
    body = struct.pack("<Q", len(text)) + text + bytes(size)
    return frames.pack({**head, "tensors": [spec]}, body)


Worker.answer = answer


def double(x):
    return 3 * x
