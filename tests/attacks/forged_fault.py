# attack: answers with a fault that the suite might take for its own
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
    kinds = {3: ["Skipped"], 5: ["GraderFault"], 7: ["KeyboardInterrupt", "NotImplementedError"]}
    fault = {"type": kinds[length][0], "kinds": kinds[length], "message": "passed"}
    fault |= {"frames": [], "tensors": [], "raised_here": True}
    return whole(number, kind="raised", fault=fault)


Worker.answer = answer


def double(x):
    return 3 * x
