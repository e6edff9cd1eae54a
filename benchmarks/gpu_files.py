"""Submissions for the tiny kit's ``double`` that try to break a GPU's isolation, or the CPU's.

Those in ``HARMS`` are right except for inputs of five numbers, which one check of three uses.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission

ROOT = Path(__file__).parent.parent
UNHARMED_CHECKS = ("test_three_numbers", "test_seven_numbers")
HARMFUL_START = (
    "import os\nimport torch\n\n\ndef double(x):\n    if len(x) == 5:\n        harm(x)\n"
)
HARMFUL_REST = "    return 2 * x\n\n\ndef harm(x):\n"
GPU_SLEEP = "    if x.is_cuda:\n        torch.cuda._sleep(1 << 62)\n"
HARMS = {
    "takes all memory": "    held = []\n    while True:\n"
    "        held.append(torch.ones(64 << 20, device=x.device))\n",
    "hangs in a kernel": f"{GPU_SLEEP}        torch.cuda.synchronize()\n"
    "    while True:\n        pass\n",
    "ends in a kernel": f"{GPU_SLEEP}    os._exit(9)\n",
    "reads out of range": "    torch.ones(3, device=x.device)[torch.tensor([7], device=x.device)]"
    ".sum().item()\n",
}
EXPECTED_VERDICTS = {
    "hangs in a kernel": Verdict.TIMEOUT
}  # of the check that is harmed; others: an error
LEAVES_TENSORS = """
import torch

held = []


def double(x):
    held.append(torch.full((64 << 20,), 2.0**97, device=x.device))  # 256 MiB
    return 2 * x
"""
LOOKS_FOR_TENSORS = """
import torch


def double(x):
    print("seen", int((torch.empty(64 << 20, device=x.device) == 2.0**97).sum()))
    return 2 * x
"""
OPENS_FORBIDDEN = """
import ctypes
import os
import re


def attempt(what, do):
    try:
        if do():
            print(what)
    except (OSError, AttributeError):
        pass


def opens_another_gpu():
    found = 0
    for number in range(64):
        try:
            os.close(os.open(f"/dev/nvidia{number}", os.O_RDWR))
            found += 1
        except OSError:
            pass
    return found > 1


def writes_beside_the_driver():
    maps = open("/proc/self/maps").read()
    path = re.search(r"(/.*)/libcuda", maps)
    return path and open(f"{path[1]}/written", "w")


def writes_to_the_driver():
    return open("/proc/driver/nvidia/params", "w")


def sees_other_processes():
    library = ctypes.CDLL("libnvidia-ml.so.1")
    count, gpu, found = ctypes.c_uint(64), ctypes.c_void_p(), (ctypes.c_uint64 * 192)()
    if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)):
        return False
    if library.nvmlDeviceGetComputeRunningProcesses_v3(gpu, ctypes.byref(count), found):
        return False
    pids = {found[3 * place] & 0xFFFFFFFF for place in range(count.value)}
    return pids - {os.getpid()}


def double(x):
    attempt("opens another GPU", opens_another_gpu)
    attempt("writes beside the driver", writes_beside_the_driver)
    attempt("writes to the driver", writes_to_the_driver)
    attempt("sees other processes on the GPU", sees_other_processes)
    return 2 * x
"""


def double() -> Exercise:
    """Return the exercise ``double``, which all of these submissions are for."""
    return load_kit(ROOT / "tests" / "support" / "tiny_kit").find("double")


def graded(source: str, device: str, sandbox: Sandbox) -> Report:
    """Grade a source as ``double`` on a device."""
    options = Options(1, device, timeout=3.0, explain=Explain.NOTHING)
    return grade(Submission(Path("double.py"), source), double(), options, sandbox)


def unexpected_verdicts(name: str, device: str, sandbox: Sandbox) -> list[str]:
    """Return the unexpected verdicts after a submission does one of ``HARMS``; empty if none."""
    report = graded(HARMFUL_START + HARMFUL_REST + HARMS[name], device, sandbox)
    verdicts = {check.name: check.verdict for check in report.checks}
    found = [
        f"{one}: {verdicts[one]}" for one in UNHARMED_CHECKS if verdicts[one] is not Verdict.PASS
    ]
    wanted, came = EXPECTED_VERDICTS.get(name, Verdict.ERROR), verdicts["test_five_numbers"]
    if came is not wanted:
        found.append(f"test_five_numbers: {came}")
    following = graded("def double(x):\n    return 2 * x\n", device, sandbox)
    return found if following.solved else [*found, "the next submission is not solved"]


def seen_of_another(device: str, sandbox: Sandbox) -> int:
    """Return how many numbers of one submission's memory the next one finds in its own."""
    assert graded(LEAVES_TENSORS, device, sandbox).solved
    report = graded(LOOKS_FOR_TENSORS, device, sandbox)
    counts = [re.findall(r"^seen (\d+)$", check.output, re.M) for check in report.checks]
    assert all(len(one) == 1 for one in counts), report
    return sum(int(one[0]) for one in counts)


def opened(device: str, sandbox: Sandbox) -> list[str]:
    """Return what a worker can reach that it should not; empty if nothing."""
    report = graded(OPENS_FORBIDDEN, device, sandbox)
    assert report.solved, report
    return sorted({line for check in report.checks for line in check.output.splitlines()})


def differences(cpu: Report, gpu: Report) -> list[str]:
    """Return the checks whose verdict on the GPU differs from that on the CPU, in words.

    A file that leaves a tensor on the CPU loses one check on the CPU, and most checks on a GPU. A
    file that reads out of range raises an exception on the CPU, and ends its context on a GPU.
    Such a file only has to lose on a GPU what it loses on the CPU.
    """
    lost = [check for check in cpu.checks if check.is_lost]
    strays = any("pinned" in check.name for check in lost)
    strays |= any(re.search("out of (range|bounds)|Class values", one.message) for one in lost)
    other = {check.name: check for check in gpu.checks}
    found = []
    for check in lost if strays else cpu.checks:
        came = other[check.name]
        alike = came.is_lost if strays else came.verdict is check.verdict
        if not alike:
            found.append(f"{check.name}: {check.verdict} on the CPU, then {came.verdict}")
            found[-1] += f" ({came.message or check.message})"
    return found
