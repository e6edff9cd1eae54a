# attack: keyctl, bpf, perf, io_uring, userfaultfd, modules, syslog, personality
import ctypes
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    calls = ((250, 0, 0), (248, b"user", b"a", b"b", 1, -3), (321, 0, bytes(128), 128))
    calls += ((298, bytes(128), 0, -1, -1, 0), (425, 8, bytes(120)), (323, 1), (175, b"", 0, b""))
    calls += ((103, 3, bytes(16), 16), (135, 0x40000), (300, 0, 0), (304, -1, b"", 0))
    allow = ctypes.create_string_buffer(bytes.fromhex("060000000000ff7f"))  # a filter of one step
    program = ctypes.create_string_buffer(bytes([1]) + bytes(7) + bytes(ctypes.c_void_p(ctypes.addressof(allow))))
    calls += ((317, 1, 0, program), (157, 22, 2, program, 0, 0), (157, 4, 1, 0, 0, 0))
    own = os.open("own", os.O_CREAT | os.O_RDONLY)
    version, me = ctypes.c_long(7), (os.getpid(), libc.syscall(186))
    calls += ((169, 0, 0, 0), (194, b"/", 0, 0), (16, own, 0x40087602, ctypes.byref(version)))
    signal.pthread_sigmask(signal.SIG_BLOCK, range(signal.SIGRTMIN, signal.SIGRTMAX))
    if all(libc.syscall(234, *me, 40) == 0 for _ in range(2_000)):
        return True  # all programs of a user share the room for signals that wait
    calls += ((319, b"m", 0), (447, 0), (29, 0, 4096, 0o1600), (64, 0, 1, 0o1600), (68, 0, 0o1600))
    calls += ((163, b"/tmp"), (170, b"x", 1), (227, 0, bytes(16)), (246, 0, 0, 0, 0))
    for call in calls:
        if libc.syscall(*call) >= 0:
            print(call)
            return True
    return False
