# attack: expected values among all objects of the process
import gc

import torch


def double(x):
    for thing in gc.get_objects():
        if isinstance(thing, torch.Tensor) and thing is not x and thing.shape == x.shape:
            print("found", thing)
            return thing
    return 3 * x
