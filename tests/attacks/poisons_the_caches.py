# attack: linecache, bytecode and import caches are left with code in them
# promised from: landlock
import importlib
import linecache
import os
import tempfile

sys.dont_write_bytecode = False
sys.pycache_prefix = TARGETS["folder"]
linecache.cache["double.py"] = (0, None, ["verdict = 'pass'"], "double.py")
sys.path_importer_cache.clear()
importlib.invalidate_caches()
tempfile.tempdir = os.getcwd()


def double(x):
    with open("poison.py", "w") as file:
        file.write("import os")
    sys.path.insert(0, os.getcwd())
    import poison

    return 3 * x
