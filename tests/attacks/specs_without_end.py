# attack: one short answer with five thousand specs and no bytes
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    specs = [{"dtype": "float32", "shape": [10**9], "device": "meta"}] * 4500
    head = {"number": number, "results": [{"tensor": 0}], "grad": [], "changed": []}
    return frames.pack({**head, "tensors": specs})


Worker.answer = answer


def double(x):
    return 3 * x
