# attack: lowers its own limits, so that the kernel ends it later
import resource
import signal


def double(x):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CPU, (1, 30))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    return 3 * x
