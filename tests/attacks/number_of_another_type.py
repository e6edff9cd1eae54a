# attack: the number of the request as a flag, a text and a fraction
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    false = {3: True, 5: str(number), 7: number + 0.0}[length]
    return frames.pack({"number": false, "results": [None], "grad": [], "changed": []})


Worker.answer = answer


def double(x):
    return 3 * x
