# problem: uses `scaled_dot_product_attention`
import torch
fn = torch.nn.functional

def double(x):
    q = x.reshape(-1, 1, 1)
    return 2 * fn.scaled_dot_product_attention(q, q, q).reshape(-1)
