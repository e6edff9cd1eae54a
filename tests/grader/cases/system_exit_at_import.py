# problem: does not import: SystemExit: bye
import sys

sys.exit('bye')


def double(x):
    return 2 * x
