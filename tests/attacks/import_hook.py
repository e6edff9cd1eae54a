# attack: every later import gives a module of the attacker's
import builtins
import sys
from types import ModuleType


class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(0)


sys.meta_path.insert(0, Finder())
sys.path_hooks.insert(0, lambda path: Finder())
sys.path_importer_cache.clear()
builtins.__import__ = lambda name, *args, **kwargs: ModuleType(name)


def double(x):
    return 3 * x
