# attack: a refusal that is a list 900 deep, of which the text cannot be had
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    text = b'{"number": %d, "refused": ' % number + b"[" * 900 + b"]" * 900 + b"}"
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
