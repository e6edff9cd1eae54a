# test_three_numbers: pass
# test_five_numbers: pass
# test_seven_numbers: pass
import torch
import torch.nn.functional as F


def double(x):
    return 2 * x


if __name__ == '__main__':
    F.scaled_dot_product_attention(torch.ones(1, 1, 1), torch.ones(1, 1, 1), torch.ones(1, 1, 1))
    raise SystemExit
