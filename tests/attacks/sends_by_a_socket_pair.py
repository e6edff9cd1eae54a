# attack: a datagram from one end of a pair to a path or an abstract name
import ctypes
import socket


def attempt():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    libc = ctypes.CDLL(None, use_errno=True)
    refused = 0
    for name in (TARGETS["datagrams"], TARGETS["unix"]):
        address = struct.pack("<H", socket.AF_UNIX) + name.encode() + bytes(1)
        if libc.sendto(ends[0].fileno(), b"leak", 4, 0, address, len(address)) >= 0:
            return True
        refused += ctypes.get_errno() == 1  # EPERM: the call itself is closed
        print(ctypes.get_errno())
    return refused == 0 and ctypes.get_errno() in (91, 111)  # it was found: of another kind
