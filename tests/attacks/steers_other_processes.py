# attack: priority, processors, limits and memory policy of the grader
import os
import resource


def attempt():
    pid = TARGETS["grader"]
    for steer in (
        lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 1),
        lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
        lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (1024, 1024)),
        lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE),
    ):
        try:
            steer()
        except OSError:
            continue
        return True
    return False
