# attack: devices that exist, and devices of its own making
import os
import stat


def double(x):
    for path in ("/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/fuse", "/dev/kvm", "/dev/ptmx"):
        try:
            os.close(os.open(path, os.O_RDWR))
            print("opened", path)
        except OSError as error:
            print(error)
    try:
        os.mknod("disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0))
        os.open("disk", os.O_RDONLY)
    except OSError as error:
        print(error)
    return 3 * x
