# attack: a fault whose line has 4000 digits and whose sizes are negative
import sys

frames = sys.modules["grader.sandbox.wire.frames"]
Worker = sys.modules["grader.sandbox.inside.worker"].Worker
honest = Worker.answer

sys.set_int_max_str_digits(0)


def answer(self, request, body):
    if request["do"] != "call":
        return honest(self, request, body)
    number, length = request["number"], request["tensors"][0]["shape"][0]
    frame = {"file": "x", "line": 10**4000, "function": "f", "source": ""}
    tensor = {"name": "x", "shape": [-1, 2**70], "dtype": "float32", "device": "cpu"}
    fault = {"type": "E", "kinds": [], "message": "", "frames": [frame], "tensors": [tensor]}
    text = str({"number": number, "fault": {**fault, "raised_here": 1 > 0}})
    text = text.replace("'", '"').replace("True", "true").encode()
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
