# attack: a header with every key twice, the second forged
import sys

frames = sys.modules["grader.wire.frames"]
Worker = sys.modules["grader.worker.handler"].RequestHandler
honest = Worker.answer


def answer(self, request, body):
    if type(request.steps[-1].operation).__name__ != "Call":
        return honest(self, request, body)
    number, length = request.number, request.steps[-1].tensors[0].shape[0]
    text = b'{"number": 0, "number": %d, "answers": [{"is": "refused", "text": "x", ' % number
    text += b'"is": "called", "results": [{"tensor": 0}], "grads": [], "changed": []}]}'
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
