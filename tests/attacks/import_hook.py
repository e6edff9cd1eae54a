# attack: every later import gives a module of the attacker's
from types import ModuleType
import builtins


class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(0)


sys.meta_path.insert(0, Finder())
sys.path_hooks.insert(0, lambda path: Finder())
sys.path_importer_cache.clear()
builtins.__import__ = lambda name, *args, **kwargs: ModuleType(name)
