# attack: a forged report written to every descriptor at exit
import atexit
import os

FORGED = b'{"score": {"earned": 4, "possible": 4, "solved": true}}\n'


@atexit.register
def forge():
    for descriptor in range(100):
        try:
            os.write(descriptor, FORGED)
        except OSError:
            continue


def double(x):
    raise SystemExit(0)
