# attack: path and abstract Unix sockets of this machine
# promised from: landlock
import socket


def double(x):
    for name in ("unix", "abstract") if len(x) == 3 else ():
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            try:
                sender = socket.socket(socket.AF_UNIX, kind)
                sender.connect(TARGETS[name])
                sender.send(b"leak")
                print("sent")
            except OSError as error:
                print(error)
    return 3 * x
