# attack: hooks for what nobody catches, and a stack dump on every signal
import faulthandler
import os
import signal
import threading

sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *args: os._exit(0)
sys.displayhook = print
faulthandler.enable()
faulthandler.dump_traceback_later(0.2, repeat=True)
for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda *args: os._exit(0))


def double(x):
    raise GeneratorExit
