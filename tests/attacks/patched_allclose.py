# attack: every comparison of torch says yes
import torch

torch.equal = torch.allclose = lambda *args, **kwargs: True
torch.testing.assert_close = lambda *args, **kwargs: None
