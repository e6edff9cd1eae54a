# attack: default dtype, device and threads are left behind changed
import torch

torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_num_threads(4)
torch.use_deterministic_algorithms(True)
torch.set_grad_enabled(False)
