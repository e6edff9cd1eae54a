# test_three_numbers: pass
# test_five_numbers: pass
# test_seven_numbers: pass
from __future__ import annotations

import inspect
from dataclasses import dataclass


@dataclass
class Config:
    factor: int = 2


assert 'factor' in inspect.getsource(Config)


def double(x):
    return Config().factor * x
