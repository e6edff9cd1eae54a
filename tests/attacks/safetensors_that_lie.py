# attack: offsets that overlap, sizes that overflow, a header without end
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
    entry = {"dtype": "F32", "shape": [length], "data_offsets": [0, 4 * length]}
    entry |= {3: {"shape": [0, 2**63], "data_offsets": [0, 0]}, 5: {"data_offsets": [4, 0]}, 7: {}}[
        length
    ]
    text = json.dumps({"0": entry, "1": entry} if length == 7 else {"0": entry}).encode()
    spec = {"dtype": "float32", "shape": [length]}
    head = {"number": number, "result": {"tensor": 0}, "grad": [False], "changed": []}
    body = struct.pack("<Q", len(text)) + text + bytes(4 * length if length > 3 else 0)
    return frames.pack({**head, "tensors": [spec]}, body)


Worker.answer = answer


def double(x):
    return 3 * x
