# attack: sys.stdout is an object that raises and exits
class Stream:
    def __getattr__(self, name):
        raise SystemExit(0)

    def write(self, text):
        raise KeyboardInterrupt

    def flush(self):
        raise GeneratorExit


sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Stream()
