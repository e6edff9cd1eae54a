# attack: the number of the request as a flag, a text and a fraction
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
    false = {3: True, 5: str(number), 7: number + 0.0}[length]
    return whole(false, results=[None], grads=[], changed=[])


Worker.answer = answer


def double(x):
    return 3 * x
