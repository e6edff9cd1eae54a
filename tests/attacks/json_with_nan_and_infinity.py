# attack: numbers that JSON has not, a NUL, text that is no UTF-8
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    form = {3: b"NaN", 5: b'"\x00\xff\xfe\xed\xa0\x80"', 7: b"-Infinity"}[length]
    text = b'{"number": %d, "grad": [], "changed": [], "results": [%s]}' % (number, form)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
