# attack: symlinks, hard links and renames that bring hidden files near
# promised from: landlock
import os


def double(x):
    for make in (os.symlink, os.link, os.rename):
        try:
            make(TARGETS["solution"], "near")
            print(open("near").read())
            os.unlink("near")
        except OSError as error:
            print(error)
    return 3 * x
