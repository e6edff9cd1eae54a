# attack: semaphores and message queues of other programs, by their number
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    if os.getpid() == 1:
        return False  # there are no others in this namespace
    for call in (
        (66, 1 << 20, 0, 12),
        (220, 1 << 20, bytes(6), 1, 0),
        (71, 1 << 20, 2, bytes(128)),
        (241, b"x"),
    ):
        if libc.syscall(*call) >= 0 or ctypes.get_errno() not in (1, 38):  # EPERM, ENOSYS
            print(call, ctypes.get_errno())
            return True
    return False
