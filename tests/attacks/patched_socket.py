# attack: the connection's send says everything twice
import socket

honest = socket.socket.send


class Connection(socket.socket):
    def sendall(self, data):
        socket.socket.send(self, data)
        return socket.socket.send(self, data)


def double(x):
    import sys

    frame = sys._getframe()
    while frame:
        connection = frame.f_locals.get("connection")
        if connection is not None:
            connection.__class__ = Connection
        frame = frame.f_back
    return 3 * x
