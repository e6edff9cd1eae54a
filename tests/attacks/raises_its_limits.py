# attack: more memory, processes and files than it was given
import resource


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
