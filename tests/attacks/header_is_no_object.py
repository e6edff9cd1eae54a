# attack: headers that are a list, a number, empty, or two objects
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    text = {3: b"[]", 5: b"", 7: b'{"number": 1} {"number": 1}'}[length]
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
