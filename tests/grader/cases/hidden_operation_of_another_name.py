# problem: uses `_scaled_dot_product_flash_attention_for_cpu`
import torch

name = "_scaled_dot_product_" + "flash_attention_for_cpu"


def double(x):
    q = x.reshape(-1, 1, 1, 1)
    out, _ = getattr(torch.ops.aten, name)(q, q, q)
    return 2 * out.reshape(-1)
