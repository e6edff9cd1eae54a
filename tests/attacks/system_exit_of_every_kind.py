# attack: SystemExit, KeyboardInterrupt and GeneratorExit with odd arguments
def double(x):
    if len(x) == 3:
        raise SystemExit(x)
    if len(x) == 5:
        raise KeyboardInterrupt(double)
    raise BaseExceptionGroup("several", [SystemExit(0), KeyboardInterrupt()])
