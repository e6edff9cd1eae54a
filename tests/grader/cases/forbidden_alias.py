# problem: uses `scaled_dot_product_attention`
from torch.nn.functional import scaled_dot_product_attention as attend


def double(x):
    return attend(x, x, x)
