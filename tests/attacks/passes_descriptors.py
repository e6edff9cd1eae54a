# attack: sends and takes descriptors over the connections that it inherits
import os
import socket


def attempt():
    for number in range(3, 64):
        try:
            inherited = socket.socket(fileno=os.dup(number))
            socket.send_fds(inherited, [b"x"], [0, 1, 2])
        except OSError:
            continue
        return True
    return False
