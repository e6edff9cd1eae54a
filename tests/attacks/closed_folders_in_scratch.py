# attack: folders without permissions, files without names that can be shown
import os


def double(x):
    for mode in (0o300, 0o200, 0o000):
        path = f"{mode}-{len(x)}"
        os.makedirs(path + "/inner/inner/inner", 0o700)
        for depth in range(3, -1, -1):
            folder = path + "/inner" * depth
            with open(folder + "/file", "w"):
                pass
            if depth and mode != 0o300:
                continue
            try:
                os.chmod(folder, mode)
            except OSError as error:
                print(error)
    old = os.umask(0o477)  # folders that can be filled, and not be read
    path = "blind"
    for _ in range(5):
        os.mkdir(path, 0o777)
        path += "/blind"
    os.umask(old)
    os.open(b"\xff\xfe\n\x1b[2J", os.O_CREAT)
    os.open("n" * 255, os.O_CREAT)
    os.symlink("/", "root")
    os.symlink(TARGETS["folder"], "hidden")
    return 3 * x
