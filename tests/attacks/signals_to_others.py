# attack: signals to grader, zygote, victim, parent, group and all
import os
import signal


def attempt():
    for pid in (TARGETS["grader"], TARGETS["zygote"], TARGETS["victim"], os.getppid(), 0, -1):
        for number in (0, signal.SIGCONT):
            try:
                os.kill(pid, number)
            except OSError:
                continue
            if pid not in (0, os.getpid()):
                return True
    return False
