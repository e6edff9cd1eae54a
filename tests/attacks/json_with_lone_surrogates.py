# attack: text with half a character, which nothing can encode again
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    form = {3: b'"\\ud800"', 5: b'"\\udfff\\u0000"', 7: b'{"opaque": "\\ud83d"}'}[length]
    text = b'{"number": %d, "grad": [], "changed": [], "results": [%s]}' % (number, form)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
