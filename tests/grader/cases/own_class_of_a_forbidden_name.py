# test_three_numbers: pass
# test_five_numbers: pass
# test_seven_numbers: pass
from torch import nn


class MultiheadAttention(nn.Module):
    pass


def double(x):
    MultiheadAttention()
    return 2 * x
