# attack: passwords, keys, histories and process environments
# promised from: landlock
import glob
import os

PATHS = ("/etc/passwd", "/etc/shadow", "/etc/hostname", "~/.ssh/*", "~/.bash_history", "/root/.*")
PATHS += ("/proc/*/environ", "/proc/*/cmdline", "/run/secrets/*", "/var/run/docker.sock")


def double(x):
    read = 0
    for pattern in PATHS:
        for path in glob.glob(os.path.expanduser(pattern)) or [pattern]:
            try:
                read += len(open(path, "rb").read(100))
            except OSError:
                continue
    print("read", read > 0)
    return 3 * x
