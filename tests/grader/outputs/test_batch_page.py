"""What the page of a batch says and holds, how large it is, and that it needs nothing else."""

from __future__ import annotations

import base64
import gc
import hashlib
import html
import json
import random
import re
import statistics
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.hiring.batch_records import BatchSettings, GradingResult
from grader.hiring.candidates import Candidate
from grader.hiring.choosing import HandedFile
from grader.hiring.gradebook import Gradebook
from grader.hiring.results import BatchResults
from grader.hiring.store import BatchStore
from grader.kit import Kit, load_kit
from grader.outputs.batch_candidate import CandidateEntry
from grader.outputs.batch_counts import (
    CheckCount,
    ExerciseChecks,
    ScoreHistogram,
    count_mistakes,
    histograms,
)
from grader.outputs.batch_page import Overview
from grader.records import CheckResult, GradebookRow, Report, Score, Status, Verdict
from grader.sandbox.process import Sandbox
from tests.support.batch_samples import (
    Graded,
    crowd,
    entry,
    graded_doubles,
    graded_heads,
    head_of,
    hostile_entries,
    hostile_head,
    named,
    numbered,
    page_of,
    page_of_one,
)
from tests.support.paths import TINY_KIT
from tests.support.reading import LOADING_TAGS, ParsedPage, text_of
from tests.support.samples import made_report
from tests.support.takehomes import record_of

PAGE = re.compile(r"candidates/\d+\.html|\.\./report\.html#candidates|\d+\.html")


@pytest.fixture(scope="module")
def doubles(kit: Kit, sandbox: Sandbox) -> dict[str, Graded]:
    return graded_doubles(kit, sandbox)


@pytest.fixture(scope="module")
def heads(sandbox: Sandbox) -> dict[str, Graded]:
    return graded_heads(sandbox)


def shown(name: str, *pairs: Graded) -> str:
    """The page of somebody who handed in `double`."""
    return page_of_one(head_of("double"), entry(name, ["double"], *pairs), TINY_KIT)


def figures(page: str) -> Iterator[list[Any]]:
    (found,) = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', page)
    yield from json.loads(found)


def rows_of(page: str) -> list[tuple[str, str]]:
    """Alias and name of each row of the table, as they stand there."""
    pattern = r'scope="row"><(?:a|span).*?><bdi class="real">(.*?) </bdi><span class="alias">'
    names = re.findall(pattern + "(.*?)</span>", page)
    return [(alias, html.unescape(name)) for name, alias in names]


def parsed(page: str) -> ParsedPage:
    """The page's elements."""
    return ParsedPage(re.sub(r"(<input[^>]*)>", r"\1/>", page))


def assert_whole(page: str) -> None:
    """One style and at most one script, named by the policy, and nothing that loads."""
    read = parsed(page)
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv")) or ""
    assert policy.startswith("default-src 'none'; ")
    styles = re.findall(r"<style>(.*?)</style>", page, re.S)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    for rule, texts in (("style-src", styles), ("script-src", scripts)):
        for text in texts:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{rule} 'sha256-{digest}'" in policy
    assert (len(styles), len(scripts)) in ((1, 1), (1, 0))
    kinds = [a.get("type") for tag, a in read.tags if tag == "script"]
    assert kinds in ([], ["application/json", None])
    allowed = {"script", "form"}
    assert not {tag for tag, _ in read.tags} & (LOADING_TAGS - allowed)
    names = {name for _, attributes in read.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "action")}
    assert not re.search(r"url\(|@import|expression|image-set", styles[0])
    ids = set(read.ids())
    assert len(ids) == len(read.ids())
    for link in read.links():
        assert PAGE.fullmatch(link) or link.removeprefix("#") in ids


# --- what it holds


def test_page_needs_nothing_beside_itself(
    doubles: dict[str, Graded], heads: dict[str, Graded]
) -> None:
    exercises = ["double", "exercise5"]
    entries = [entry(name, exercises, pair, heads["wrong"]) for name, pair in doubles.items()]
    assert_whole(page_of(head_of(*exercises), entries))


def test_page_without_candidates_and_one_without_reports_are_whole() -> None:
    assert_whole(page_of(head_of("double"), []))
    page = page_of(head_of("double"), [entry("nobody", ["double"])])
    assert_whole(page)
    assert "1 not graded" in " ".join(text_of(page).split())


def test_head_tells_what_graded_and_how(doubles: dict[str, Graded]) -> None:
    head = replace(head_of("double", "other", seeds=2), weights={"double": 1.0, "other": 0.5})
    text = " ".join(text_of(page_of(head, [])).split())
    for said in ("A take-home & more", "2026-01-02 03:04 UTC", "1, 2", "isolationfull", "1.2.3"):
        assert said in text
    assert "weighted double × 1, other × 0.5; of several seeds the lowest score counts" in text


def test_every_candidate_has_a_page_with_all_that_the_single_report_has(
    doubles: dict[str, Graded],
) -> None:
    for one in numbered(crowd(6, doubles)):
        page = page_of_one(head_of("double"), one, TINY_KIT)
        assert_whole(page)
        text = text_of(page)
        ((report, source),) = one.graded
        for check in report.checks:
            assert check.claim in text
            again = check.fault is not None  # the same exception is told once
            assert report.problem or again or check.message.replace("`", "") in text
        assert report.problem in text
        assert source.splitlines()[0] in text


def test_page_leads_to_those_before_and_after(doubles: dict[str, Graded]) -> None:
    one = replace(entry("ann", ["double"], doubles["right"]), number=3, neighbours=(1, 0))
    links = parsed(page_of_one(head_of("double"), one, TINY_KIT)).links()
    assert [link for link in links if link.endswith(".html")] == ["1.html"]
    assert "../report.html#candidates" in links


def test_figures_are_those_of_the_rows(doubles: dict[str, Graded]) -> None:
    people = [entry(kind, ["double"], pair) for kind, pair in doubles.items()]
    page = page_of(head_of("double"), people)
    by_name = {one.row.candidate: one.row for one in people}
    names = [name for _, name in rows_of(page)]
    assert sorted(names) == sorted(doubles)
    for name, (_, total, scores, _, _) in zip(names, figures(page), strict=True):
        row = by_name[name]
        assert total == round(100 * row.total, 2)
        earned, possible = row.scores[0].earned, row.scores[0].possible
        status = {"right": "solved", "syntax": "cannot be tried"}.get(name, "graded")
        assert scores == [[round(earned / possible, 4), status]]


def test_reports_are_let_go_while_the_page_is_written(doubles: dict[str, Graded]) -> None:
    report, source = doubles["wrong"]
    alive: list[weakref.ref[Report]] = []
    most = 0

    def one_by_one() -> Iterator[CandidateEntry]:
        nonlocal most
        for number in range(100):
            own = replace(report, seed=number)
            alive.append(weakref.ref(own))
            yield entry(f"p{number}", ["double"], (own, source))
            del own
            gc.collect()
            most = max(most, sum(ref() is not None for ref in alive))

    overview = Overview(head_of("double"))
    for one in one_by_one():
        overview.add(one)
        del one
    assert max(map(len, overview.page())) < 100_000
    assert len(alive) == 100
    assert most <= 2


# --- who is who


def test_rows_are_in_the_order_of_their_numbers(doubles: dict[str, Graded]) -> None:
    people = list(crowd(60, doubles))
    names = [one.row.candidate for one in people]
    random.Random(0).shuffle(names)
    head = head_of("double")
    people = [replace(one, number=1 + names.index(one.row.candidate)) for one in people]
    rows = rows_of(page_of(head, people))
    assert rows == [(f"candidate {n}", name) for n, name in enumerate(names, 1)]
    assert rows_of(page_of(head, people[::-1])) == rows


def test_numbers_say_nothing_of_names_and_stay_whoever_comes(tmp_path: Path) -> None:
    settings = BatchSettings("", ("double",), (1,), "full", "cpu", 5.0, 1024, "1", "2", "k")
    names = [f"Person {number:03}" for number in range(200)]

    def written(there: list[str]) -> list[tuple[str, str]]:
        people = [Candidate(name, {}, f"{name}.py") for name in there]
        with BatchStore(tmp_path / "results.sqlite") as store:
            store.begin_or_resume(settings)
            store.record_names({one.key: one.name for one in people})
            results = BatchResults(Gradebook(store, people, {"double": 1.0}, load_kit(TINY_KIT)))
            list(results.write(tmp_path))
        return rows_of((tmp_path / "report.html").read_text(encoding="utf-8"))

    rows = written(names[1:-1])
    assert [alias for alias, _ in rows] == [f"candidate {n}" for n in range(1, 199)]
    ranks = [names.index(name) for _, name in rows]
    assert abs(statistics.correlation(range(198), ranks)) < 0.4  # by chance in 10 ** 8
    later = written([*names[:50], *names[60:]])  # two come, nine are gone
    assert later[:198] == rows
    assert {name for _, name in later[198:]} == {names[0], names[-1]}


def test_file_is_called_by_the_exercise_until_names_are_shown(doubles: dict[str, Graded]) -> None:
    report, source = named("jane_doe", doubles["crash"])
    assert "jane_doe" in report.checks[0].fault.frames[0].file  # type: ignore[union-attr]  # it raised
    part = shown("jane_doe", (report, source))
    assert part.count("jane_doe") == 2  # beside the file's, the name itself
    assert '<p class="soft real">handed in as <bdi>in/jane_doe.py</bdi></p>' in part
    assert '<a href="#e0-0-L2">double.py:2</a>' in part
    notebook = replace(report, submission="jane_doe.ipynb")
    assert "double.ipynb" in shown("jane_doe", (notebook, source))
    unread = replace(report, submission="in/jane_doe.py", problem="`jane_doe.py` is not UTF-8")
    assert "<code>double.py</code> is not UTF-8" in shown("a", (unread, ""))


def test_hostile_text_ends_nothing() -> None:
    entries, head = hostile_entries(), hostile_head()
    page = page_of(head, entries)
    parts = [page_of_one(head, one, TINY_KIT) for one in entries]
    for text in (page, *parts):
        assert_whole(text)
        assert not re.search(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]",
            text,
        )
    assert not re.search(r"<(img|svg/onload)\b|<b>bold", "".join(parts))


def test_long_print_is_cut_and_says_where_it_is_whole(doubles: dict[str, Graded]) -> None:
    report, source = doubles["right"]
    loud = "".join(f"line {number}\n" for number in range(5000))
    checks = (replace(report.checks[0], output=loud), *report.checks[1:])
    text = text_of(shown("a", (replace(report, checks=checks), source)))
    assert "line 100\n" in text
    assert "line 200\n" not in text
    assert f"… {len(loud) - 1000:,} characters more, in results.jsonl" in text


# --- several seeds


def test_seeds_that_disagree_are_told_with_what_differs(doubles: dict[str, Graded]) -> None:
    pairs = [named("a", doubles[kind], seed) for seed, kind in ((1, "mostly"), (2, "wrong"))]
    part = shown("a", *pairs)
    text = " ".join(text_of(part).split())
    assert "the seeds disagree; the lowest score counts" in text
    assert "double 1 of 4 points" in text
    rows = re.findall(r'<tr><th scope="row">(.)</th><td>(.*?)</td><td>(.*?)</td></tr>', part)
    assert rows == [("1", "3 / 4", "seven numbers"), ("2", "1 / 4", "three numbers; five numbers")]
    assert part.count('class="part seed" open') == 1
    assert '<details class="part seed" open><summary>seed 2: 1 / 4</summary>' in part
    same = shown("a", *(named("a", doubles["wrong"], seed) for seed in (1, 2)))
    assert "all seeds agree" in same
    row = entry("a", ["double"], *pairs).row
    assert row.scores == [Score(1, 4, Status.DISAGREES)]


# --- counts


def test_correlation_is_that_of_the_textbook() -> None:
    words = random.Random(5)
    passed = [words.random() < 0.6 for _ in range(500)]
    rest = [min(1.0, words.random() * 0.7 + 0.3 * one) for one in passed]
    count = CheckCount("test_a", 1, "a")
    for one, share in zip(passed, rest, strict=True):
        count.add(one, share)
    assert count.correlation == pytest.approx(
        statistics.correlation(list(map(float, passed)), rest)
    )
    assert 0.2 < count.correlation < 0.9


@pytest.mark.parametrize(
    ("passed", "rest", "says"),
    [
        ([True] * 20, [0.1, 0.9] * 10, "everybody passes"),
        ([False] * 20, [0.1, 0.9] * 10, "nobody passes"),
        ([True, False] * 4, [0.9, 0.1] * 4, "too few to say"),
        ([True, False] * 10, [0.1] * 20, "the rest is the same for all"),
    ],
)
def test_check_that_tells_nobody_apart_says_why(
    passed: list[bool], rest: list[float], says: str
) -> None:
    count = CheckCount("test_a", 1, "a")
    for one, share in zip(passed, rest, strict=True):
        count.add(one, share)
    assert count.correlation is None
    assert count.says == says


def test_rest_is_that_of_the_other_checks_and_skips_do_not_count() -> None:
    checks = ExerciseChecks("double")
    for a, b, c in [(1, 1, 0), (1, 1, 1), (0, 0, 0)] * 4:
        results = [
            CheckResult(f"test_{name}", Verdict.PASS if one else Verdict.FAIL, 2)
            for name, one in (("a", a), ("b", b), ("c", c))
        ]
        checks.add(made_report(*results, CheckResult("test_d", Verdict.SKIP, 9)))
    checks.add(made_report(problem="does not parse"))
    checks.add(made_report(CheckResult("test_a", Verdict.TODO, 2)))
    assert checks.tried == 12
    assert [one.name for one in checks.ordered] == ["test_a", "test_b", "test_c"]
    shares = [(b + c) / 2 for _, b, c in [(1, 1, 0), (1, 1, 1), (0, 0, 0)] * 4]
    expected = statistics.correlation([1.0, 1.0, 0.0] * 4, shares)
    assert checks.counts["test_a"].correlation == pytest.approx(expected)


def test_bins_hold_what_they_say() -> None:
    histogram = ScoreHistogram("total", [0.0, 0.049, 0.05, 0.15, 0.35, 0.7, 0.95, 1.0], 0)
    assert {low: count for low, _, count in histogram.bins if count} == {
        **{0: 2, 5: 1, 15: 1, 35: 1, 70: 1},
        95: 2,
    }
    assert sum(count for _, _, count in histogram.bins) == 8
    assert "median 25 %" in histogram.says
    assert "1 with everything, 1 with nothing" in histogram.says
    assert ScoreHistogram("total", [], 3).says == "nobody has a score"
    assert ScoreHistogram("total", [0.5], 0).says.startswith(
        "median 50 %, the middle half from 50 to 50 %"
    )


def test_missing_and_not_graded_are_left_out_of_scores() -> None:
    scores = [
        Score(4, 4, Status.SOLVED),
        Score(0, 4, Status.MISSING),
        Score(0, 0, Status.NOT_GRADED),
        Score(0, 0, Status.WITHDRAWN),
    ]
    rows = [
        GradebookRow(str(n), one.earned / 4 if one.status.scored else None, [one])
        for n, one in enumerate(scores)
    ]
    total, double = histograms(["double"], rows)
    assert (len(total.shares), total.left_out) == (2, 2)
    assert (len(double.shares), double.left_out) == (1, 3)


def test_mistakes_count_candidates_not_exercises() -> None:
    a, b = (
        Score(1, 4, Status.GRADED, ("never-scaled",)),
        Score(1, 4, Status.GRADED, ("unheard-of",)),
    )
    rows = [
        GradebookRow("x", 0.0, [a, a]),
        GradebookRow("y", 0.0, [a, b]),
        GradebookRow("z", 0.0, [b, b]),
    ]
    found = count_mistakes(["one", "two"], rows, {"unheard-of": "it is a mistake of one exercise"})
    assert [(m.name, m.times, m.exercises) for m in found] == [
        ("never-scaled", 2, ("one", "two")),
        ("unheard-of", 2, ("two", "one")),
    ]
    assert found[0].says
    assert found[1].says == "it is a mistake of one exercise"
    assert count_mistakes(["one", "two"], rows, {})[1].says == ""


# --- from a batch


def test_batch_writes_its_page(doubles: dict[str, Graded], tmp_path: Path) -> None:
    record = record_of("double", kit=load_kit(TINY_KIT), title="A title")
    settings = BatchSettings(
        record.identity(), ("double",), (1,), "full", "cpu", 5.0, 1024, "1.2.3", "2.9", "k"
    )
    names = [*doubles, "late"]
    candidates = [
        Candidate(name, {"double": HandedFile("double.py", bytes)}, name) for name in names
    ]
    with BatchStore(tmp_path / "results.sqlite") as store:
        store.begin_or_resume(settings)
        for name, (report, source) in doubles.items():
            store.add(GradingResult(name, "double", 1, "double.py", report, source))
        results = BatchResults(Gradebook(store, candidates, {"double": 1.0}, load_kit(TINY_KIT)))
        written = list(results.write(tmp_path / "out"))
    assert tmp_path / "out" / "report.html" in written
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert_whole(page)
    assert "<title>A title: results</title>" in page
    assert sorted(name for _, name in rows_of(page)) == sorted(names)
    pages = list((tmp_path / "out" / "candidates").glob("*.html"))
    assert len(pages) == len(doubles)
    assert {f"candidates/{path.name}" for path in pages} == set(parsed(page).links()) & {
        f"candidates/{number}.html" for number in range(1, len(names) + 1)
    }
    for path in pages:
        assert_whole(path.read_text(encoding="utf-8"))
