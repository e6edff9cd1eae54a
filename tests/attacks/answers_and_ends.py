# attack: half an answer, a whole one, and then the end of the process
import os
import time


def double(x):
    frame, connection = forged(), find("connection")
    connection.send(frame[: 20 if len(x) == 3 else len(frame)])
    if len(x) == 7:
        connection.shutdown(1)
        time.sleep(0.1)
    os._exit(0)
