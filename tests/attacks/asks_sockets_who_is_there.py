# attack: the peer of a connection, as a process number and a descriptor, and its network
import ctypes
import os
import socket


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(3, 64):
        if libc.ioctl(number, ctypes.c_ulong(0x8912), ctypes.create_string_buffer(16)) == 0:
            return True  # SIOCGIFCONF: the addresses of the network that the connection was made in
        try:
            inherited = socket.socket(fileno=os.dup(number))
            peer = inherited.getsockopt(socket.SOL_SOCKET, 77, 4)  # SO_PEERPIDFD
        except OSError:
            continue
        handle = int.from_bytes(peer, "little")
        if libc.syscall(424, handle, 0, None, 0) == 0 or libc.syscall(438, handle, 0, 0) >= 0:
            return True
    return False
