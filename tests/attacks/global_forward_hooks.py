# attack: hooks on every module, before and after, forward and backward
from torch.nn.modules import module
import torch

module.register_module_forward_pre_hook(lambda layer, inputs: tuple(0 * x for x in inputs))
module.register_module_forward_hook(lambda layer, inputs, output: 0 * output)
module.register_module_full_backward_hook(lambda *args: None)
module.register_module_parameter_registration_hook(lambda *args: None)
torch.nn.Module.__call__ = lambda self, *args: 0
