"""A small kit of its own, so that no test here depends on a real exercise."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.kit import Kit, load_kit
from grader.sandbox.process import Sandbox

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def kit() -> Kit:
    return load_kit(HERE / "kit")


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # most tests need none

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium here: `chromium` is not on the path")
    with sync_playwright() as playwright:
        # A test may run as root, where Chromium's own sandbox refuses to start.
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()
