# attack: faults of which a field is missing, null or of another type
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    fault = {3: None, 5: {"type": 1}, 7: [["NotImplementedError"]]}[length]
    return frames.pack({"number": number, "fault": fault})


Worker.answer = answer


def double(x):
    return 3 * x
