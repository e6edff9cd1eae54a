# attack: a result nested as deeply as the parser of JSON allows, and deeper
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    depth = {3: 900, 5: 480, 7: 20_000}[length]
    result = b'{"list":[' * depth + b"]}" * depth
    text = b'{"number": %d, "grad": [], "changed": [], "results": [%s]}' % (number, result)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
