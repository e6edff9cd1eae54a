# attack: expected values in the callers' local variables
import inspect


def double(x):
    for info in inspect.stack():
        for name, value in info.frame.f_locals.items():
            if name in ("expected", "right", "solution", "oracle", "subject", "draw"):
                return value
    for frame in sys._current_frames().values():
        while frame:
            if "expect_close" in frame.f_globals:
                return 2 * x
            frame = frame.f_back
    return 3 * x
