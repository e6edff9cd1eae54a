# attack: timers and handlers that interrupt the worker between requests
import signal


def double(x):
    def handler(number, frame):
        raise KeyboardInterrupt

    for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF):
        signal.signal(number, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.001, 0.001)
    return 3 * x
