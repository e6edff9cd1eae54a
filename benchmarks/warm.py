"""Measure a warm session: the cost of a suite's run besides its checks, and of a request.

Usage: python benchmarks/warm.py [EXERCISE] [RUNS]
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import torch

from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.submission import Submission, read_submission
from grader.suite.runner import suite_runner


def suite_cost(name: str, runs: int, sandbox: Sandbox) -> None:
    """Print the time of one grading, and how much of it is spent outside the checks' own time."""
    exercise = installed_kit().find(name)
    submission = read_submission(exercise.solution)
    whole, beside = [], []
    for number in range(runs + 1):
        sandbox.prepare()  # as `grade watch` does while it waits for the next save
        suite_runner(exercise.suite).foresee(number)
        started = time.perf_counter()
        report = grade(submission, exercise, Options(device="cpu", seed=number), sandbox)
        taken = time.perf_counter() - started
        if number:
            whole.append(taken)
            beside.append(taken - sum(check.seconds for check in report.checks))
    print(f"one grading of {name}      {statistics.median(whole) * 1000:6.1f} ms")
    print(f"  situations, and the rest {statistics.median(beside) * 1000:6.1f} ms")


def request_cost(sandbox: Sandbox) -> None:
    """Print how long a forward of 16 KiB takes, there and back."""
    source = "from torch import nn\nclass Layer(nn.Linear):\n    pass\n"
    session = Session(sandbox, Submission(Path("layer.py"), source), 10.0, 600.0)
    session.begin_check(1)
    batch = session.batch()
    module = batch.create("Layer", (64, 64))
    x = torch.randn(64, 64)  # 16 KiB
    times = []
    for _ in range(1000):
        started = time.perf_counter()
        call = batch.call(module, [((x,), {})])
        batch.send()
        call.result()
        times.append(time.perf_counter() - started)
    session.close()
    print(f"forward of 16 KiB          {statistics.median(times) * 1000:6.2f} ms (to reach: 1)")


def main(name: str = "exercise3", runs: str = "9") -> None:
    """Print both costs."""
    with Sandbox() as sandbox:
        suite_cost(name, int(runs), sandbox)
        request_cost(sandbox)


if __name__ == "__main__":
    main(*sys.argv[1:])
