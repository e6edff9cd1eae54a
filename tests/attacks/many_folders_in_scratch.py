# attack: folders in folders, and beside each other, as many as there is time for
import os


def double(x):
    made = 0
    try:
        for made in range(5_000):
            os.mkdir(f"d{made}")
            if made % 10:
                os.chdir(f"d{made}")
    except OSError as error:
        print(made, error)
    return 3 * x
