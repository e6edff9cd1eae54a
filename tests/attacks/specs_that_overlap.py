# attack: two tensors over the bytes of one, bytes of nobody, sizes that overflow
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    spec = {"dtype": "float32", "shape": [length]}
    specs = {3: [spec, spec], 5: [spec], 7: [{"dtype": "float32", "shape": [0, 2**63]}, spec]}[length]
    head = {"number": number, "results": [{"tensor": 0}], "grad": [False], "changed": []}
    body = bytes({3: 16, 5: 1 << 20, 7: 32}[length])
    return frames.pack({**head, "tensors": specs}, body)


Worker.answer = answer


def double(x):
    return 3 * x
