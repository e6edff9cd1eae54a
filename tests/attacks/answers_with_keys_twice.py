# attack: a header with every key twice, the second forged
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    text = b'{"number": 0, "number": %d, "refused": "x", "refused": null, ' % number
    text += b'"results": [{"tensor": 0}], "grad": [], "changed": [], "verdict": "pass"}'
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
