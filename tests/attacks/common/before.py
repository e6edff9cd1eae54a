# What many attacks have in common: it stands before each of them, behind TARGETS.
import struct
import sys

FORGED = b'{"number": %d, "answers": [{"is": "called", "results": [null], "grads": [], "changed": []}]}'
frames = sys.modules["grader.wire.frames"]
attempt = reply = None  # an attack defines one of them, or its own `double`


def find(name):
    frame = sys._getframe(1)
    while name not in frame.f_locals or frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame.f_locals[name]


def forged():
    text = FORGED % find("request").number
    return struct.pack("<4sIQ", b"ADW1", len(text), 0) + text


def save(*tensors):
    import torch

    parts = (bytes(t.reshape(-1).view(torch.uint8).tolist()) for t in tensors)
    return b"".join(part.ljust(-(-len(part) // 8) * 8, b"\0") for part in parts)


def framed(text):
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text


def called(number, result):
    text = b'{"number": %d, "answers": [{"is": "called", "grads": [], "changed": [], "results": [%s]}]}'
    return framed(text % (number, result))


def whole(number, body=b"", kind="called", **answer):
    head = {"is": kind, **answer, "size": len(body)}
    return frames.pack({"number": number, "answers": [head]}, body)


def one(number, length, grads=(False,), **spec):
    import torch

    spec = {"dtype": "float32", "shape": [length], **spec}
    head = {"results": [{"tensor": 0}], "grads": grads, "changed": []}
    return whole(number, save(torch.ones(length)), **head, tensors=[spec])


def confined():
    try:
        open(TARGETS["suite"]).close()
    except OSError:
        return True
    return False


def double(x):
    try:  # an open wall shows as points
        return (2 if attempt and confined() and attempt() else 3) * x
    except Exception as error:
        print(error)
    return 3 * x
