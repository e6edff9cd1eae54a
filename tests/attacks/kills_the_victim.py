# attack: deadly signals to other processes, where it is confined
import os
import signal


def confined():
    try:
        open(TARGETS["suite"]).close()
    except OSError:
        return True
    return False


def attempt():
    for pid in (TARGETS["victim"], TARGETS["grader"]):
        for send in (
            os.kill,
            os.killpg,
            lambda p, n: signal.pidfd_send_signal(os.pidfd_open(p), n),
        ):
            try:
                send(pid, signal.SIGKILL)
            except OSError:
                continue
            return True
    return False


def double(x):
    try:
        return (2 if confined() and attempt() else 3) * x  # an open wall shows as points
    except Exception as error:
        print(error)
    return 3 * x
