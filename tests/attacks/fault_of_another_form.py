# attack: faults of which a field is missing, null or of another type
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
    fault = {3: None, 5: {"type": 1}, 7: [["NotImplementedError"]]}[length]
    return whole(number, kind="raised", fault=fault)


Worker.answer = answer


def double(x):
    return 3 * x
