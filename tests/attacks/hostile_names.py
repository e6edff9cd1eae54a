# attack: escapes, markup and formulas in the names of a function and of a type
NAME = "\x1b[2J\x1b]0;x\x07<img src=x onerror=alert(1)>=1+1|calc\n\nscore 4 / 4\u202e"
Bad = type(NAME, (Exception,), {})


def raises(x):
    raise Bad(NAME)


raises.__code__ = raises.__code__.replace(co_name=NAME, co_qualname=NAME)


def double(x):
    return raises(x)
