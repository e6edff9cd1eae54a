"""A small kit of its own, so that no test here depends on a real exercise."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader.kit import Kit, load_kit
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.paths import TINY_KIT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from grader.sandbox.session import Session  # imports torch: see ``tests/conftest.py``


@pytest.fixture(scope="session")
def kit() -> Kit:
    return load_kit(TINY_KIT)


@pytest.fixture
def begin(sandbox: Sandbox) -> Iterator[Callable[[str], Session]]:
    """Load a source into a worker and begin a check of it."""
    from grader.sandbox.session import Session

    begun: list[Session] = []

    def begin_one(source: str) -> Session:
        begun.append(Session(sandbox, Submission(Path("mine.py"), source), 5.0, 60.0))
        begun[-1].begin_check(1)
        return begun[-1]

    yield begin_one
    for one in begun:
        one.close()


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


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open a page; at the end, nothing was loaded, and nobody complained."""
    heard: list[str] = []
    opened: list[Page] = []

    def open_one(text: str, hash: str = "", width: int = 1000, **settings: Any) -> Page:
        file = tmp_path / f"{len(opened)}.html"
        file.write_text(text, encoding="utf-8", newline="")
        page = browser.new_page(viewport={"width": width, "height": 700}, **settings)
        page.set_default_timeout(10_000)
        opened.append(page)
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: heard.append(dialog.message))
        page.on(
            "request",
            lambda asked: asked.url.split("#")[0] == file.as_uri() or heard.append(asked.url),
        )
        page.goto(file.as_uri() + hash)
        return page

    yield open_one
    for page in opened:
        page.close()
    assert heard == []
