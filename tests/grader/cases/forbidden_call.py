# problem: uses `scaled_dot_product_attention`
import torch.nn.functional as F

def double(x):
    return F.scaled_dot_product_attention(x, x, x)
