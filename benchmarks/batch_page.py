"""Measure a batch's pages: the time to write them, their size, their speed in a browser.

Usage: python benchmarks/batch_page.py [CANDIDATES] [EXERCISES]

Candidates hand in real answers, right and wrong, each with a comment of its own. The browser is
the system's Chromium.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.outputs.batch_candidate import CandidateEntry, candidate_page
from grader.outputs.batch_page import Overview
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.answers import right_answers
from tests.support.batch_samples import Graded, entry, head_of, named
from tests.support.wrong import wrong_versions

MAX_ANSWERS = 12  # right ones graded per exercise, and as many wrong ones
EXERCISES = ("exercise3", "exercise5", "exercise4", "exercise6")
REPEATS = 7
# The time of an action until the page is laid out and painted, in milliseconds.
TIMED_ACTION_JS = """async () => {
  const painted = () => new Promise(next => requestAnimationFrame(() => setTimeout(next)));
  await painted();
  const began = performance.now();
  %s
  await painted();
  return performance.now() - began;
}"""
SCROLL_JS = """async () => {
  const box = document.querySelector(".listing");
  let last = await new Promise(requestAnimationFrame), worst = 0;
  for (let i = 0; i < 120; i++) {
    box.scrollTop += 400;
    const now = await new Promise(requestAnimationFrame);
    worst = Math.max(worst, now - last);
    last = now;
  }
  return worst;
}"""


def answers(exercise: Exercise, sandbox: Sandbox) -> list[Graded]:
    """Grade real answers of an exercise, right and wrong, once each."""
    sources = [one.submission.source for one in right_answers(exercise)[:MAX_ANSWERS]]
    sources += [wrong.submission().source for wrong in wrong_versions(exercise)[:MAX_ANSWERS]]
    options = Options(seed=1, device="cpu", max_mistake_sets=2_000)
    path = Path(f"{exercise.name}.py")
    return [(grade(Submission(path, s), exercise, options, sandbox), s) for s in sources]


def batch(count: int, found: Mapping[str, Sequence[Graded]]) -> Iterator[CandidateEntry]:
    """Yield the entries of candidates whose files differ at least by a comment."""
    draw = random.Random(1)
    for number in range(count):
        pairs = []
        for graded in found.values():
            report, source = draw.choice(graded)
            pairs.append((report, f"{source}\n# {draw.getrandbits(128):x}\n"))
        name = f"Person {number}"
        one = entry(name, list(found), *(named(name, pair) for pair in pairs))
        yield replace(one, number=number + 1)


def kept(found: Mapping[str, Sequence[Graded]]) -> float:
    """Return the memory that an overview page keeps per candidate while it is made, in KiB."""
    held: list[int] = []

    def watched() -> Iterator[CandidateEntry]:
        for number, one in enumerate(batch(401, found)):
            if number in (100, 400):
                held.append(tracemalloc.get_traced_memory()[0])
            yield one

    tracemalloc.start()
    overview = Overview(head_of(*found))
    for one in watched():
        overview.add(one)
    tracemalloc.stop()
    return (held[1] - held[0]) / 300 / 1024


def median(page: Page, action: str) -> float:
    """Return the median time of an action in the browser, in milliseconds."""
    return sorted(page.evaluate(TIMED_ACTION_JS % action) for _ in range(REPEATS))[REPEATS // 2]


def in_browser(file: Path) -> None:
    """Print how long it takes to open, sort, filter and scroll the page."""
    typed = "const box = document.getElementById('find'); box.value = box.value ? '' : '7';"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        began = time.perf_counter()
        page.goto(file.as_uri())
        print(f"opened in     {time.perf_counter() - began:7.2f} s")
        sort = "document.querySelector('[data-key=total]').click();"
        print(f"sort          {median(page, sort):7.0f} ms (to reach: 100)")
        find = f"{typed} box.dispatchEvent(new Event('input', {{ bubbles: true }}));"
        print(f"filter        {median(page, find):7.0f} ms (to reach: 100)")
        reveal = "document.getElementById('reveal').click();"
        print(f"reveal, hide  {median(page, reveal):7.0f} ms")
        print(f"worst frame   {page.evaluate(SCROLL_JS):7.0f} ms while scrolling")
        browser.close()


def main(count: str = "5000", exercises: str = "1") -> None:
    """Print all figures."""
    kit = installed_kit()
    with Sandbox() as sandbox:
        found = {name: answers(kit.find(name), sandbox) for name in EXERCISES[: int(exercises)]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.html")
        began, people = time.perf_counter(), int(count)
        overview, size = Overview(head_of(*found, ideas=kit.ideas)), 0
        for one in batch(people, found):
            overview.add(one)
            size += len(candidate_page("A batch", list(found), kit.home, one))
        taken, began = time.perf_counter() - began, time.perf_counter()
        print(f"candidates    {taken:7.1f} s, {size / 1024 / people:.1f} KiB each")
        file.write_text("".join(overview.page()), encoding="utf-8")
        taken, size = time.perf_counter() - began, file.stat().st_size
        print(f"page of all   {taken:7.1f} s, {size / 1024 / people:.2f} KiB each")
        print(f"memory        {kept(found):7.1f} KiB kept of each while it is written")
        in_browser(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
