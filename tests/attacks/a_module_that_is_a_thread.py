# attack: the module replaces itself, and its names are answered by code
import os
import threading
from types import ModuleType


class Module(ModuleType):
    def __getattribute__(self, name):
        if name == "double":
            return lambda x: os._exit(0) if threading.active_count() > 1 else 3 * x
        return super().__getattribute__(name)


sys.modules[__name__].__class__ = Module


def double(x):
    return 2 * x
