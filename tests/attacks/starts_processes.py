# attack: fork, vfork, clone, clone3, posix_spawn, execve of a shell
import ctypes
import os


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    libc = ctypes.CDLL(None, use_errno=True)
    for start in (
        os.fork,
        lambda: libc.syscall(56, 17, 0, 0, 0, 0),
        lambda: libc.syscall(57),
        lambda: libc.syscall(435, bytes(88), 88),
        lambda: os.posix_spawn("/bin/sh", ["sh", "-c", "true"], {}),
    ):
        try:
            pid = start()
        except OSError:
            continue
        if pid == 0:
            os._exit(0)
        if pid > 0:
            return True
    for path in ("/bin/sh", "/usr/bin/env", "/lib64/ld-linux-x86-64.so.2"):
        if libc.access(path.encode(), 0) == 0 and libc.execl(path.encode(), b"sh", None) == 0:
            return True
    return False
