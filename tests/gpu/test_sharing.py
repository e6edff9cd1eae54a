"""Several processes that grade on one GPU: what one of them meets costs no other anything."""

from __future__ import annotations

import os

import pytest
import torch

from benchmarks.gpu_files import HARMFUL_REST, HARMFUL_START, HARMS
from grader.hiring.process_pool import GradingPool
from grader.hiring.tasks import PoolSettings, Task
from tests.support.paths import TINY_KIT

if not (torch.cuda.is_available() or "GRADE_GPU_TESTS_DEVICE" in os.environ):
    pytest.skip("there is no GPU here", allow_module_level=True)
pytestmark = pytest.mark.gpu

RIGHT = "def double(x):\n    return 2 * x\n"


@pytest.mark.parametrize("processes", [1, 3])
def test_harm_to_a_shared_gpu_costs_no_neighbour(processes: int, device: str) -> None:
    tasks = []
    for number, (name, harm) in enumerate(HARMS.items()):
        for candidate, source in (
            (name, HARMFUL_START + HARMFUL_REST + harm),
            (f"beside {name}", RIGHT),
        ):
            data = source.encode()
            tasks.append(Task(candidate, "double", number, "double.py", data))
    settings = PoolSettings(str(TINY_KIT), "auto", device, 3.0, 2048, 0)
    with GradingPool(settings, processes) as pool:
        assert pool.capabilities.device == device
        earned = {}
        for task, outcome in pool.run(tasks):
            assert outcome.report is not None, outcome.fault
            earned[task.candidate] = outcome.report.earned
    wanted = dict.fromkeys(HARMS, 3) | {f"beside {name}": 4 for name in HARMS}
    assert earned == wanted
