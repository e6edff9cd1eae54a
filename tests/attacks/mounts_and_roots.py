# attack: mount, remount, umount, pivot_root, chroot and their newer kin
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    calls = (
        lambda: libc.mount(b"none", b"/", b"tmpfs", 0, None),
        lambda: libc.mount(None, b"/", None, 32 | 4096, None),
        lambda: libc.mount(b"proc", b"/proc", b"proc", 0, None),
        lambda: libc.umount2(b"/proc", 2),
        lambda: libc.umount2(b"/", 2),
        lambda: libc.chroot(b"."),
        lambda: libc.syscall(155, b".", b"."),
        lambda: libc.syscall(428, -100, b"/", 1) + 1 or -1,
        lambda: libc.syscall(430, b"tmpfs", 0),
        lambda: libc.syscall(442, -100, b"/", 0, bytes(32), 32),
    )
    return any(call() >= 0 for call in calls)
