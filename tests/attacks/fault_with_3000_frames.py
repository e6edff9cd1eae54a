# attack: a fault with thousands of frames, that fill a screen
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    frame = {"file": "double.py", "line": 1, "function": "f", "source": "score 4 / 4"}
    fault = {"type": "E", "kinds": ["E"], "message": "m" * 90_000, "frames": [frame] * 2000}
    return frames.pack({"number": number, "fault": {**fault, "tensors": [], "raised_here": True}})


Worker.answer = answer


def double(x):
    return 3 * x
