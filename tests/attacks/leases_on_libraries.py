# attack: a lease makes whoever opens the file wait for most of a minute
import fcntl
import os


def attempt():
    path = os.path.join(os.path.dirname(os.__file__), "antigravity.py")
    library = os.open(path, os.O_RDONLY)
    fcntl.fcntl(library, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    fcntl.fcntl(library, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True
