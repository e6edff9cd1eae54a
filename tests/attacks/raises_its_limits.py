# attack: more memory, processes and files than it was given
import resource


def confined():
    try:
        open(TARGETS["suite"]).close()
    except OSError:
        return True
    return False


def attempt():
    for kind in (
        resource.RLIMIT_AS,
        resource.RLIMIT_CPU,
        resource.RLIMIT_NOFILE,
        resource.RLIMIT_CORE,
    ):
        try:
            resource.setrlimit(kind, (1 << 40, 1 << 40))
        except (OSError, ValueError):
            continue
        return True
    return False


def double(x):
    try:
        return (2 if confined() and attempt() else 3) * x  # an open wall shows as points
    except Exception as error:
        print(error)
    return 3 * x
