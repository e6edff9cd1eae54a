# attack: a float written with 400 digits, an index with as many
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    digits = b"1" + b"0" * 400
    form = {3: b'{"float": %s}', 5: b'{"tensor": %s}', 7: b"%s"}[length] % digits
    text = b'{"number": %d, "grad": [], "changed": [], "results": [%s]}' % (number, form)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
