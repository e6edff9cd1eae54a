# problem: uses `multi_head_attention_forward`
import torch

attend = torch.nn.Linear.forward.__globals__['F'].__dict__['multi_head' + '_attention_forward']


def double(x):
    one, q = torch.ones(1, 1), x.reshape(1, -1, 1)
    out, _ = attend(q, q, q, 1, 1, torch.ones(3, 1), None, None, None, False, 0.0, one, None)
    return 2 * out.reshape(-1)
