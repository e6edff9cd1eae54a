# attack: the peer of a connection, as a process number and a descriptor
import ctypes
import os
import socket


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    for number in range(3, 64):
        try:
            inherited = socket.socket(fileno=os.dup(number))
            peer = inherited.getsockopt(socket.SOL_SOCKET, 77, 4)  # SO_PEERPIDFD
        except OSError:
            continue
        handle = int.from_bytes(peer, "little")
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(424, handle, 0, None, 0) == 0 or libc.syscall(438, handle, 0, 0) >= 0:
            return True
    return False
