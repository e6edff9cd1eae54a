# attack: waits where no clock counts it, for a thread that is a child of vfork
# earns: 4
# promised from: landlock
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
THREAD_AND_VFORK = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x4000
stack = ctypes.create_string_buffer(1 << 16)
pause = ctypes.cast(libc.pause, ctypes.c_void_p)


def double(x):
    top = ctypes.c_void_p(ctypes.addressof(stack) + len(stack) - 64 & ~15)
    libc.clone(pause, top, THREAD_AND_VFORK, None)
    return 2 * x
