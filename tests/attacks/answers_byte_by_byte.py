# attack: an answer that comes so slowly that it never ends
import time


def double(x):
    connection = find("connection")
    for byte in forged() * 100:
        connection.send(bytes([byte]))
        time.sleep(0.1)
    return 3 * x
