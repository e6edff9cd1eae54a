# attack: twenty thousand files and links
import os


def double(x):
    made = 0
    try:
        for made in range(20_000):
            os.close(os.open(f"f{made}", os.O_CREAT))
    except OSError as error:
        print(made, error)
    return 3 * x
