# attack: a file of one byte at the end of a terabyte, mapped
import mmap
import os


def double(x):
    with open("sparse", "w+b") as file:
        for size in (1 << 40, 1 << 32, 1 << 26):
            try:
                os.truncate(file.fileno(), size)
                os.posix_fallocate(file.fileno(), 0, size)
                mmap.mmap(file.fileno(), size)[size - 1]
            except (OSError, ValueError) as error:
                print(error)
    return 3 * x
