"""Tests that need a GPU, ``pytest -m gpu``; without one, each module is skipped as a whole.

With ``GRADE_GPU_TESTS_DEVICE=cpu`` the CPU stands in its place: so it is known that they run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from grader.errors import GraderFault
from grader.sandbox.process import Sandbox
from grader.wire.levels import LEVELS

os.environ["GRADE_LANG"] = "en"  # whatever whoever runs the tests speaks


@pytest.fixture(scope="session")
def device() -> str:
    return os.environ.get("GRADE_GPU_TESTS_DEVICE", "cuda")


@pytest.fixture(scope="session")
def sandbox(device: str) -> Iterator[Sandbox]:
    with Sandbox(on_gpu=device == "cuda") as made:
        yield made


@pytest.fixture(scope="session")
def without_gpu() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="module", params=[level for level in LEVELS if level != "process"])
def walled(request: pytest.FixtureRequest, device: str) -> Iterator[Sandbox]:
    """A sandbox at each level that strangers' files are graded at."""
    with Sandbox(request.param, on_gpu=device == "cuda") as made:
        try:
            assert made.isolation == request.param
        except GraderFault as fault:
            pytest.skip(f"level {request.param} is not available here: {fault}")
        yield made
