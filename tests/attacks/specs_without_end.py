# attack: one short answer with five thousand specs and no bytes
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
    specs = [{"dtype": "float32", "shape": [10**9], "device": "meta"}] * 4500
    head = {"results": [{"tensor": 0}], "grads": [], "changed": []}
    return whole(number, **head, tensors=specs)


Worker.answer = answer


def double(x):
    return 3 * x
