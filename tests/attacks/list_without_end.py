# attack: a list whose iteration never ends
class Endless(list):
    def __iter__(self):
        while True:
            yield 0


def double(x):
    return Endless([1])
