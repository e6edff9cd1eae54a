# attack: loopback TCP and UDP, and sockets that listen
# promised from: landlock
import socket


def double(x):
    for kind, port in (
        ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")) if len(x) == 3 else ()
    ):
        try:
            sender = socket.socket(socket.AF_INET, kind)
            sender.settimeout(1)
            sender.connect(("127.0.0.1", TARGETS[port]))
            sender.send(b"leak")
            print("sent")
        except OSError as error:
            print(error)
    try:
        socket.create_server(("127.0.0.1", 0)).close()
        print("listens")
    except OSError as error:
        print(error)
    return 3 * x
