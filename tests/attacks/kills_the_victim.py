# attack: deadly signals to other processes, where it is confined
import os
import signal


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
