# attack: netlink, raw, packet, vsock and kernel crypto sockets
import socket


def attempt():
    for family in (1, 2, 10, 16, 17, 38, 40, 44):
        for kind in (1, 2, 3, 5):
            try:
                socket.socket(family, kind).close()
            except OSError:
                continue
            print(family, kind)
            return True
    return False
