# attack: an object that would run code where it is unpickled
import os


class Bomb:
    def __reduce_ex__(self, protocol):
        return os._exit, (0,)

    __reduce__ = __reduce_ex__


def double(x):
    return Bomb()
