# attack: recursion without end, with the limit taken away
sys.setrecursionlimit(10**9)


class Deep:
    def __getattr__(self, name):
        return getattr(self, name)


def double(x):
    return Deep().anything
