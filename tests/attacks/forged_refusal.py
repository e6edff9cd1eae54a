# attack: answers that the worker could not confine itself
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
    if length == 3:
        return whole(number, kind="refused", text="a wall cannot be put up")
    if length == 5:
        return frames.pack({"number": number, "level": "full", "refused": {}})
    return frames.pack({"number": 0, "refused": "skipped"})


Worker.answer = answer


def double(x):
    return 3 * x
