# attack: passwords, process environments and the machine's name, where confined
import glob


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
