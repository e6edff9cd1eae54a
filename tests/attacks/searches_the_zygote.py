# attack: the zygote's own objects, reached by frames: its control socket
import socket


def double(x):
    frame = sys._getframe()
    while frame:
        zygote = frame.f_locals.get("self")
        control = getattr(zygote, "control", None)
        if control is not None and control.fileno() >= 0:
            socket.send_fds(control, [b"fork"], [0, 1])
            return 2 * x
        frame = frame.f_back
    return 3 * x
