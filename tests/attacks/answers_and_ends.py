# attack: half an answer, a whole one, and then the end of the process
import os
import struct
import sys
import time


FORGED = b'{"number": %d, "answers": [{"is": "called", "results": [null], "grads": [], "changed": []}]}'


def find(name):
    frame = sys._getframe(1)
    while name not in frame.f_locals or frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame.f_locals[name]


def forged():
    text = FORGED % find("request").number
    return struct.pack("<4sIQ", b"ADW1", len(text), 0) + text


def double(x):
    frame, connection = forged(), find("connection")
    connection.send(frame[: 20 if len(x) == 3 else len(frame)])
    if len(x) == 7:
        connection.shutdown(1)
        time.sleep(0.1)
    os._exit(0)
