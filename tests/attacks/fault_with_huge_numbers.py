# attack: a fault whose line has 4000 digits and whose sizes are negative
import sys

frames = sys.modules["grader.wire.frames"]
Worker = sys.modules["grader.worker.handler"].RequestHandler
honest = Worker.answer

sys.set_int_max_str_digits(0)


def answer(self, request, body):
    if type(request.steps[-1].operation).__name__ != "Call":
        return honest(self, request, body)
    number, length = request.number, request.steps[-1].tensors[0].shape[0]
    frame = {"file": "x", "line": 10**4000, "function": "f", "source": ""}
    tensor = {"name": "x", "shape": [-1, 2**70], "dtype": "float32", "device": "cpu"}
    fault = {"type": "E", "kinds": [], "message": "", "frames": [frame], "tensors": [tensor]}
    answer = {"is": "raised", "fault": {**fault, "raised_here": 1 > 0}}
    text = str({"number": number, "answers": [answer]})
    text = text.replace("'", '"').replace("True", "true").encode()
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


Worker.answer = answer


def double(x):
    return 3 * x
