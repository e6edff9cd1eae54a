# attack: a regular expression and a power that take for ever
import re


def double(x):
    if len(x) == 3:
        re.match(r"(a+)+$", "a" * 60 + "b")
    if len(x) == 5:
        return 7 ** (10**8)
    return 3 * x
