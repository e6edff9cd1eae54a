# attack: exceptions with the names that pytest's own have
class Skipped(BaseException):
    msg = "nothing to test"
    allow_module_level = True


class Exit(BaseException):
    returncode = 0


class WorkerTimeout(KeyboardInterrupt):
    pass


def double(x):
    raise {3: Skipped, 5: Exit, 7: WorkerTimeout}[len(x)]("nothing to see")
