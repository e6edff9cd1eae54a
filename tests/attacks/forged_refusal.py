# attack: answers that the worker could not confine itself
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    if length == 3:
        return frames.pack({"number": number, "refused": "a wall cannot be put up"})
    if length == 5:
        return frames.pack({"number": number, "level": "full", "refused": {}})
    return frames.pack({"number": 0, "refused": "skipped"})


Worker.answer = answer


def double(x):
    return 3 * x
