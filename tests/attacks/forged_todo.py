# attack: says that it is not written yet, with stub's own words
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    fault = {"type": "NotImplementedError", "kinds": ["NotImplementedError"], "message": ""}
    fault |= {"frames": [], "tensors": [], "raised_here": True}
    return frames.pack({"number": number, "fault": fault, "results": [{"tensor": 0}]})


Worker.answer = answer


def double(x):
    return 3 * x
