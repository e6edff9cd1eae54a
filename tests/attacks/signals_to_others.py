# attack: signals to grader, zygote, victim, parent, group and all
import os
import signal


def confined():
    try:
        open(TARGETS["suite"]).close()
    except OSError:
        return True
    return False


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


def double(x):
    try:
        return (2 if confined() and attempt() else 3) * x  # an open wall shows as points
    except Exception as error:
        print(error)
    return 3 * x
