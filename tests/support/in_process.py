"""What is told of a source of our own, in this process: no sandbox, and no waiting for one."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.in_process import LocalSession
from grader.attention.contract import AttentionContract
from grader.attention.observe import find_mistakes
from grader.diagnosis.catalogue import Explanation
from grader.suite.draw import Draw
from grader.suite.harness import Harness


def explained_here(source: str, contract: AttentionContract) -> Explanation:
    """Which mistakes reproduce a source of ours; by one thread, as a grading does."""
    session: Any = LocalSession(source)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return find_mistakes(Harness(contract, session, Draw(1), {}))
    finally:
        torch.set_num_threads(threads)
