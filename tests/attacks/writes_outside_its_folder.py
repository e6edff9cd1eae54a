# attack: makes files, folders, FIFOs and sockets outside, where confined
import os


def attempt():
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/", TARGETS["folder"]):
        path = f"{folder}/grade-planted-{os.getpid()}"
        for make in (os.mkdir, os.mkfifo, lambda p: os.symlink("/", p), lambda p: open(p, "w")):
            try:
                make(path)
            except OSError:
                continue
            print(path)
            return True
    return False
