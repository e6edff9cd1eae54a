# attack: more results than calls, none, and no list at all
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    results = {3: [1.0, 2.0], 5: [], 7: {"0": 1.0}}[length]
    head = {"number": number, "results": results, "grad": [], "changed": []}
    return frames.pack({**head, "tensors": []})


Worker.answer = answer


def double(x):
    return 3 * x
