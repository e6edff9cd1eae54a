# attack: variables that would steer the next process
import ctypes
import os

libc = ctypes.CDLL(None)
for name in (b"PYTHONPATH", b"PYTHONSTARTUP", b"LD_PRELOAD", b"PYTEST_ADDOPTS", b"PYTEST_PLUGINS"):
    libc.setenv(name, b"/tmp/poison", 1)
    os.environ[name.decode()] = "/tmp/poison"
