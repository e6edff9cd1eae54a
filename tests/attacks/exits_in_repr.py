# attack: os._exit(0) in every text of an exception and of a value
import os


class Sly(Exception):
    def __str__(self):
        os._exit(0)

    __repr__ = __format__ = __str__

    @property
    def __traceback__(self):
        os._exit(0)


def double(x):
    raise Sly
