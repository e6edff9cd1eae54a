# attack: NaN and infinities, in values and as plain floats
import math

import torch


def double(x):
    if len(x) == 3:
        return torch.full_like(x, math.nan)
    if len(x) == 5:
        return torch.full_like(x, -math.inf)
    return [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308]
