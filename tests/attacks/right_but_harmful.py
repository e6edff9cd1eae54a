# attack: right answers from a file that harms what it can reach
# promised from: landlock
# earns: 4
import os
import signal


def double(x):
    for harm in (
        lambda: os.unlink(TARGETS["sibling"]),
        lambda: open(TARGETS["folder"] + "/planted", "w"),
        lambda: os.kill(TARGETS["victim"], signal.SIGCONT),
    ):
        try:
            harm()
        except OSError:
            continue
    return 2 * x
