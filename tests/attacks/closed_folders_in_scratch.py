# attack: folders without permissions, files without names that can be shown
import os


def double(x):
    here = os.getcwd()
    for mode in (0o000, 0o300, 0o100):
        os.mkdir(f"{mode}", 0o700)
        os.mkdir(f"{mode}/inner", mode)
    os.open(b"\xff\xfe\n\x1b[2J", os.O_CREAT)
    os.open("n" * 255, os.O_CREAT)
    os.symlink("/", "root")
    os.symlink(TARGETS["folder"], "hidden")
    try:
        os.chmod(here, 0)
    except OSError as error:
        print(error)
    return 3 * x
