# attack: a refusal that is a list 900 deep, of which the text cannot be had
import sys

frames = sys.modules["grader.wire.frames"]
Worker = sys.modules["grader.worker.handler"].RequestHandler
honest = Worker.answer


def answer(self, request, body):
    if type(request.steps[-1].operation).__name__ != "Call":
        return honest(self, request, body)
    number, length = request.number, request.steps[-1].tensors[0].shape[0]
    text = b'{"number": %d, "answers": [{"is": "refused", "text": ' % number
    text += b"[" * 900 + b"]" * 900 + b"}]}"
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
