# attack: stays where no call is running: in a deletion and in a flush
import time


class Slow:
    def __del__(self):
        time.sleep(30)


class Stream:
    def write(self, text):
        return len(text)

    def flush(self):
        time.sleep(30)


def double(x):
    if len(x) == 3:
        return [Slow()]
    sys.stdout = Stream()
    return 3 * x
