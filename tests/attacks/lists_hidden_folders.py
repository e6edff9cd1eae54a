# attack: names in the hidden folder, in the temp folder, at home and at the root
# promised from: landlock
import os


def double(x):
    for folder in (TARGETS["folder"], "/tmp", "/root", "/home", "/work", "/proc", os.getcwd()):
        try:
            print(folder, len(os.listdir(folder)), sorted(os.listdir(folder))[:3])
        except OSError as error:
            print(error)
    return 3 * x
