# attack: opens a library's folder for writing, where only confined
import os
import site


def attempt():
    for folder in (*site.getsitepackages(), os.path.dirname(os.__file__)):
        path = os.path.join(folder, f"grade-{os.getpid()}.pth")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        except OSError:
            continue
        os.unlink(path)
        return True
    return False
