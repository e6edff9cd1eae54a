# attack: chmod, chown, utime, truncate, rename, xattr and unlink of hidden files
# promised from: landlock
import os


def double(x):
    path = TARGETS["sibling"]
    for harm in (
        lambda: os.chmod(path, 0o600),
        lambda: os.chown(path, os.getuid(), os.getgid()),
        lambda: os.utime(path, (0, 0)),
        lambda: os.setxattr(path, "user.mark", b"1"),
        lambda: open(path, "r+").write("SECRET"),
        lambda: open(path, "a").close(),
        lambda: os.rename(path, path + ".gone"),
        lambda: os.rename(path + ".gone", path),
        lambda: os.open(path, os.O_RDONLY | os.O_TRUNC),
        lambda: os.truncate(path, 6),
        lambda: os.unlink(path),
        lambda: os.rmdir(TARGETS["folder"]),
    ):
        try:
            print(harm())
        except OSError as error:
            print(error)
    return 3 * x
