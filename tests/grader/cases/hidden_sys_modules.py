# problem: uses `scaled_dot_product_attention`
import sys

F = sys.modules['torch.nn.functional']

def double(x):
    q = x.reshape(-1, 1, 1)
    return 2 * F.scaled_dot_product_attention(q, q, q).reshape(-1)
