# attack: two tensors over the bytes of one, bytes of nobody, sizes that overflow
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
    spec = {"dtype": "float32", "shape": [length]}
    specs = {3: [spec, spec], 5: [spec], 7: [{"dtype": "float32", "shape": [0, 2**63]}, spec]}[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    body = bytes({3: 16, 5: 1 << 20, 7: 32}[length])
    return whole(number, body, **head, tensors=specs)


Worker.answer = answer


def double(x):
    return 3 * x
