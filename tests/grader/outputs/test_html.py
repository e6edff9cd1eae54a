"""What a report says as HTML, and that it needs nothing beside itself."""

from __future__ import annotations

import dataclasses
import html
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.kit import Kit
from grader.outputs.html import report_fragment, report_page
from grader.outputs.sanitise import clean
from grader.outputs.source_listing import MAX_COLOURED_CHARS, MAX_LINES, list_source
from grader.records import CheckResult, Difference, Fault, Frame, Report, Verdict
from grader.sandbox.process import Sandbox
from tests.support.paths import CASES
from tests.support.reading import ParsedPage, assert_self_contained, text_of
from tests.support.samples import (
    every_verdict,
    graded,
    hostile_pages,
    made_report,
    one_of_all,
    real_mistake,
)

CASES = sorted(CASES.glob("*.py"))


@pytest.fixture(scope="module")
def wrong_scale(sandbox: Sandbox) -> tuple[Report, str]:
    return real_mistake(sandbox)


def test_page_and_fragment_need_nothing_beside_themselves(wrong_scale: tuple[Report, str]) -> None:
    page = report_page([wrong_scale, every_verdict()])
    assert "default-src 'none'; style-src 'unsafe-inline'" in html.unescape(page)
    for made_page in (page, report_fragment(*wrong_scale), report_fragment(*every_verdict())):
        assert_self_contained(made_page)


def test_wrong_checks_come_first_and_all_is_said(wrong_scale: tuple[Report, str]) -> None:
    report, source = wrong_scale
    text = text_of(report_page([(report, source)]))
    failed = next(check for check in report.checks if check.difference is not None)
    passed = next(check for check in report.checks if check.verdict is Verdict.PASS)
    assert text.index(failed.claim) < text.index(passed.claim)
    assert report.cause is not None
    for said in (failed.message, report.cause.says, report.cause.advice, passed.why):
        assert said.replace("`", "") in text
    assert failed.difference is not None
    assert f"{failed.difference.yours:.6g}" in text
    assert f"[{', '.join(map(str, failed.difference.index))}]" in text
    assert report.diagnosis[0][0] in text


# What a page may leave out: times of single checks; `NotImplementedError` in other words.
@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.ERROR, Verdict.TIMEOUT])
def test_every_field_of_a_report_is_shown(verdict: Verdict) -> None:
    words = (f"word{number}" for number in itertools.count())
    report = replace(one_of_all(words, verdict), problem="", cells=())
    (check,) = report.checks
    assert check.difference is not None
    text = text_of(report_fragment(report, "one\ntwo\n"))
    assert report.cause is not None
    cause = replace(report.cause, follows=())  # names of checks
    hidden = replace(report, cause=cause, checks=(replace(check, seconds=0.0),), problem_line=0)
    for value in leaves(hidden):
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        assert shown in text, shown


def leaves(value: Any) -> Iterator[Any]:
    """Every word and number in a record that says anything."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        yield from leaves([*value, *value.values()])
    elif value:
        yield value


def test_skip_has_its_reason_and_a_long_print_is_folded() -> None:
    report, source = every_verdict()
    text = text_of(report_fragment(report, source))
    assert "needs a GPU" in text
    assert "not written yet: it raises NotImplementedError" in text
    long = "\n".join(f"line {number}" for number in range(40))
    loud = made_report(CheckResult("test_a", Verdict.FAIL, 1, output=long))
    assert "<summary>printed: 40 lines</summary>" in report_fragment(loud, source)
    short = made_report(CheckResult("test_a", Verdict.FAIL, 1, output="once\n" * 40))
    assert "once (× 40)" in text_of(report_fragment(short, source))


def test_problem_is_said_once_with_its_line(kit: Kit, sandbox: Sandbox) -> None:
    source = "print('before')\nimport nowhere\n\ndef double(x):\n    return x\n"
    report, _ = graded(kit, sandbox, source)
    page = report_page([(report, source)])
    text = text_of(page)
    assert text.count("does not import") == 1
    assert "double.py:2: does not import" in text
    assert "before" in text
    assert '<a href="#g1-L2">double.py:2</a>' in page
    assert '<span class="line marked" id="g1-L2"' in page


def test_stub_is_said_once(kit: Kit, sandbox: Sandbox) -> None:
    text = text_of(
        report_page([graded(kit, sandbox, "def double(x): raise NotImplementedError\n")])
    )
    assert text.count("still a stub: nothing to grade yet, 4 points to earn") == 1
    assert "What will be checked" in text
    assert "grade hint double" in text


def test_same_exception_is_told_once(kit: Kit, sandbox: Sandbox) -> None:
    report, source = graded(kit, sandbox, "def double(x):\n    raise ValueError('no')\n")
    page = report_page([(report, source)])
    assert page.count("double.py:2</a>") == 1
    assert page.count('class="note"') == 1
    assert text_of(page).count("2 more checks, as above") == 1


def test_wrong_is_above_what_is_to_do_and_above_what_passed() -> None:
    text = text_of(report_page([every_verdict()]))
    order = [text.index(name) for name in ("fails", "raises", "hangs", "todo", "needs a", "passes")]
    assert order == sorted(order)


def test_place_in_a_notebook_is_that_of_its_cell() -> None:
    fault = Fault("KeyError", "3", (Frame("work.ipynb", 5, "double", "return {}[3]"),))
    check = CheckResult("test_a", Verdict.ERROR, 1, message="KeyError: 3", fault=fault)
    source = "# cell 1\nimport torch\n# cell 2\ndef double(x):\n    return {}[3]\n"
    page = report_page([(made_report(check, submission="work.ipynb", cells=(1, 3)), source)])
    assert '<a href="#g1-L5">work.ipynb cell 2:2</a>' in page
    assert '<span class="line marked" id="g1-L5" tabindex="-1"><span class="n">2</span>' in page


def test_frame_of_another_file_or_no_line_has_no_link() -> None:
    frames = tuple(
        Frame(*words) for words in (("other.py", 1, "f", "a"), ("double.py", 99, "g", "b"))
    )
    check = CheckResult("test_a", Verdict.ERROR, 1, fault=Fault("KeyError", "3", frames))
    page = report_page([(made_report(check, problem_line=-3), "x = 1\n")])
    assert "other.py:1" in page
    assert "double.py:99" in page
    assert 'class="line"' in page
    assert 'class="line marked"' not in page
    assert_self_contained(page)


@pytest.mark.parametrize("name", ["problem", "checks", "fragment", "progress"])
def test_hostile_text_is_escaped_and_cleaned(name: str) -> None:
    text = hostile_pages()[name]
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069]", text
    )
    assert "red</" not in text
    assert_self_contained(text)


def test_two_fragments_share_no_anchor() -> None:
    report, source = every_verdict()
    first, second = (report_fragment(report, source) for _ in range(2))
    assert ParsedPage(first).ids()
    assert_self_contained(first + second)
    assert not set(ParsedPage(first).ids()) & set(ParsedPage(second).ids())


def test_rules_of_a_fragment_touch_nothing_around_it() -> None:
    styles = ParsedPage(report_fragment(*every_verdict())).styles
    selectors = re.findall(r"([^{};]+)\{", styles)
    assert len(selectors) > 50
    assert all(".drills" in s or s.strip().startswith("@media") for s in selectors), selectors


# --- the source


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_line_of_a_source_is_shown_as_it_is(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    shown = ["".join(text for _, text in line.pieces) for line in list_source(source, {})]
    assert shown == [clean(line) for line in source.removesuffix("\n").split("\n")]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", []),
        ("\n\nx", ["", "", "x"]),
        ("a\r\nb\rc\n", ["a", "b", "c"]),
        ("a\x0cb\x0b\x1cc\u2028d\x85e\n", ["abcde"]),
        ("\x1b]0;never ended\nx = 1\n", ["", "x = 1"]),
        ("'''open\n\tand on", ["'''open", "\tand on"]),
        ("x = 'é'  # 注意 \ufeff\n", ["x = 'é'  # 注意 "]),
    ],
)
def test_numbers_of_lines_hold(source: str, lines: list[str]) -> None:
    shown = list_source(source, {})
    assert ["".join(text for _, text in line.pieces) for line in shown] == lines
    assert [line.label for line in shown] == [str(number + 1) for number in range(len(lines))]


def test_huge_source_is_cut_and_says_so() -> None:
    page = report_page(
        [(made_report(problem="x", problem_line=MAX_LINES + 9), "x\n" * (MAX_LINES + 10))]
    )
    assert "… 10 lines more" in text_of(page)
    assert_self_contained(page)
    wide = list_source("x = 1\n" + "(" * MAX_COLOURED_CHARS, {})
    assert [line.pieces[0][1][:1] for line in wide] == ["x", "("]


def test_name_that_is_not_utf8_can_be_written(tmp_path: Path) -> None:
    page = report_page([(made_report(submission="\udcff.py"), "x = 1\n")])
    (tmp_path / "page.html").write_text(page, encoding="utf-8")


def test_difference_says_what_its_message_does_not() -> None:
    difference = Difference("gradient", 0.5, 0.1, (1, 2), 1.5, 1.0, 3, 9)
    check = CheckResult("test_a", Verdict.FAIL, 1, message="wrong", difference=difference)
    text = text_of(report_fragment(made_report(check), ""))
    assert "3 of 9" in text
    assert "gradient" in text
