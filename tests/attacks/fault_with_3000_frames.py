# attack: a fault with thousands of frames, that fill a screen
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
    frame = {"file": "double.py", "line": 1, "function": "f", "source": "score 4 / 4"}
    fault = {"type": "E", "kinds": ["E"], "message": "m" * 90_000, "frames": [frame] * 2000}
    fault |= {"tensors": [], "raised_here": True}
    return whole(number, kind="raised", fault=fault)


Worker.answer = answer


def double(x):
    return 3 * x
