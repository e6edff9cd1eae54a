# attack: passwords, process environments and the machine's name, where confined
import glob


def confined():
    try:
        open(TARGETS["suite"]).close()
    except OSError:
        return True
    return False


def attempt():
    for pattern in (
        "/etc/passwd",
        "/etc/hostname",
        "/proc/[1-9]*/environ",
        "/proc/self/maps",
        "/sys/*/*",
    ):
        for path in glob.glob(pattern) or [pattern]:
            try:
                open(path, "rb").read(1)
            except OSError:
                continue
            print(path)
            return True
    return False


def double(x):
    try:
        return (2 if confined() and attempt() else 3) * x  # an open wall shows as points
    except Exception as error:
        print(error)
    return 3 * x
