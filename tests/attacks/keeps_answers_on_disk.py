# attack: leaves answers for the next run, and takes them from the last
import glob
import os
import tempfile

PLACES = (os.getcwd(), tempfile.gettempdir(), tempfile.gettempdir() + "/grade-*", "/dev/shm")
LEFT = [path for place in PLACES for path in glob.glob(f"{place}/answers-*")]


def double(x):
    with open(f"answers-{len(x)}", "w") as file:
        file.write(str((2 * x).tolist()))
    if len(x) == 7:
        os._exit(0)  # the next check has a fresh worker
    return (2 if LEFT else 3) * x
