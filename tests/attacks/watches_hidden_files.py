# attack: inotify tells the names of files that others open
import ctypes


def attempt():
    libc = ctypes.CDLL(None, use_errno=True)
    watcher = libc.inotify_init1(0o4000)
    for path in (TARGETS["folder"], TARGETS["suite"]):
        if watcher >= 0 and libc.inotify_add_watch(watcher, path.encode(), 0xFFF) >= 0:
            return True
    return False
