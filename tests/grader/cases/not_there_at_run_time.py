# test_three_numbers: error: defines no `double`
from math import *


if False:
    def double(x):
        return 2 * x
