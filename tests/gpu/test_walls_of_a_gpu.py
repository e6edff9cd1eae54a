"""What a submission may do to a GPU, to whoever shares it, and to whoever comes next."""

from __future__ import annotations

import itertools
import os

import pytest
import torch

from benchmarks.gpu_files import HARMS, double, graded, opened, seen_of_another, unexpected_verdicts
from grader.grading import Options, grade
from grader.sandbox.process import Sandbox
from tests.support.attacking import attack
from tests.support.paths import ATTACKS

if not (torch.cuda.is_available() or "GRADE_GPU_TESTS_DEVICE" in os.environ):
    pytest.skip("there is no GPU here", allow_module_level=True)
pytestmark = pytest.mark.gpu

ABOUT_DEVICES = [
    "answer_on_meta", "devices", "devices_of_every_kind", "fork_bomb", "memory_bomb",
    "functions_of_torch_answer_yes", "meta_of_no_size", "meta_of_the_right_shape",
    "poisoned_defaults_of_torch", "searches_proc_self_mem",
]  # fmt: skip
SEEDS = range(5)


@pytest.mark.parametrize("name", HARMS)
def test_harm_costs_its_check_alone(name: str, device: str, walled: Sandbox) -> None:
    assert unexpected_verdicts(name, device, walled) == []


def test_memory_of_one_worker_is_not_read_by_the_next(device: str, walled: Sandbox) -> None:
    assert [seen_of_another(device, walled) for _ in SEEDS] == [0] * len(SEEDS)


def test_nothing_but_the_one_gpu_is_open(device: str, walled: Sandbox) -> None:
    promised = opened(device, walled)
    if walled.isolation == "landlock":  # which hides no process
        promised = [what for what in promised if what != "sees other processes on the GPU"]
    assert promised == []


@pytest.mark.parametrize("name", ABOUT_DEVICES)
def test_attack_gains_nothing(name: str, device: str, walled: Sandbox) -> None:
    path = ATTACKS / f"{name}.py"
    lines = itertools.takewhile(lambda line: line.startswith("# "), path.read_text().splitlines())
    earns = [int(line.removeprefix("# earns: ")) for line in lines if line.startswith("# earns: ")]
    for seed in SEEDS:
        report = grade(attack(path, {}), double(), Options(seed, device, timeout=1.5), walled)
        assert report.earned <= sum(earns), report
    assert graded("def double(x):\n    return 2 * x\n", device, walled).solved
