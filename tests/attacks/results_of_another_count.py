# attack: more results than calls, none, and no list at all
import sys

frames = sys.modules["grader.wire.frames"]
Worker = sys.modules["grader.worker.handler"].RequestHandler
honest = Worker.answer


def whole(number, body=b"", kind="called", **answer):
    head = {"is": kind, **answer, "size": len(body)}
    return frames.pack({"number": number, "answers": [head]}, body)


def answer(self, request, body):
    if type(request.steps[-1].operation).__name__ != "Call":
        return honest(self, request, body)
    number, length = request.number, request.steps[-1].tensors[0].shape[0]
    results = {3: [1.0, 2.0], 5: [], 7: {"0": 1.0}}[length]
    head = {"results": results, "grads": [], "changed": []}
    return whole(number, **head, tensors=[])


Worker.answer = answer


def double(x):
    return 3 * x
