# attack: a type whose subclass checks and names run code
class Meta(type):
    def __subclasscheck__(cls, other):
        return True

    def __getattribute__(cls, name):
        if name in ("__qualname__", "__name__", "__mro__"):
            raise SystemExit(0)
        return super().__getattribute__(name)


class Liar(metaclass=Meta):
    pass


def double(x):
    return Liar()
