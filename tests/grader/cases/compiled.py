# test_three_numbers: pass
# test_five_numbers: pass
# test_seven_numbers: pass
import torch


@torch.compile(fullgraph=True)
def double(x):
    with torch.autocast(x.device.type, enabled=False):
        return 2 * x
