# attack: a thread floods the connection with answers of every number
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


import threading


def flood(connection):
    while True:
        for number in range(50):
            text = FORGED % number
            connection.send(struct.pack("<4sIQ", b"ADW1", len(text), 0) + text)


def double(x):
    threading.Thread(target=flood, args=(find("connection"),), daemon=True).start()
    time.sleep(0.2)
    return 3 * x
