"""A small kit of its own, so that no test here depends on a real exercise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.kit import Kit, load_kit
from grader.sandbox.process import Sandbox

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def kit() -> Kit:
    return load_kit(HERE / "kit")


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made
