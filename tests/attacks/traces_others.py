# attack: ptrace, process_vm_readv and writev, pidfd_getfd, kcmp of other processes
import ctypes
import os


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (TARGETS["victim"], TARGETS["grader"], os.getppid()):
        buffer = ctypes.create_string_buffer(16)
        vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
        if libc.ptrace(0x4206, pid, 0, 0) == 0:  # PTRACE_SEIZE
            return True
        for call in (310, 311):
            if libc.syscall(call, pid, vector, 1, vector, 1, 0) >= 0:
                return True
        handle = libc.syscall(434, pid, 0)
        if (
            handle >= 0
            or libc.syscall(438, handle, 0, 0) >= 0
            or libc.syscall(312, pid, pid, 0, 0, 0) >= 0
        ):
            return True
    return False
