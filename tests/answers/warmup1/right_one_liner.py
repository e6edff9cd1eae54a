# unusual: the whole exercise is one lambda, bound to the name
import torch

self_attention = lambda x: torch.softmax(x @ x.mT, -1) @ x
