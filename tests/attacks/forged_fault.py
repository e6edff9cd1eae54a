# attack: answers with a fault that the suite might take for its own
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    kinds = {3: ["Skipped"], 5: ["GraderFault"], 7: ["KeyboardInterrupt", "NotImplementedError"]}
    fault = {"type": kinds[length][0], "kinds": kinds[length], "message": "passed"}
    fault |= {"frames": [], "tensors": [], "raised_here": True}
    return frames.pack({"number": number, "fault": fault})


Worker.answer = answer


def double(x):
    return 3 * x
