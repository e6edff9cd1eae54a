# attack: every module is taken out of sys.modules
def double(x):
    sys.modules.clear()
    sys.path.clear()
    sys.meta_path.clear()
    return 3 * x
