"""What editors and CI read: each form holds to its own definition."""

from __future__ import annotations

import html
import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from grader.outputs.exercism import render_exercism
from grader.outputs.github import render_github
from grader.outputs.gradebook import render_gradebook, spreadsheet_safe
from grader.outputs.gradescope import render_gradescope
from grader.outputs.html import report_page
from grader.outputs.junit import render_junit
from grader.outputs.phrases import without_the_repair
from grader.outputs.pytest_json import render_pytest_json
from grader.outputs.terminal import render_report
from grader.records import (
    CheckResult,
    Difference,
    Fault,
    Frame,
    GradebookRow,
    Report,
    Score,
    Status,
    Verdict,
)

HOSTILE = "]]><x>&\x00\x1b[31m\ufffe‮ ::set-env name=a::b\r\n::error::no%0A"
FAULT = Fault("ValueError", "no", (Frame("mine.py", 7, "forward", "raise ValueError"),))
GAP = Difference("output", 0.5, 1e-5, (0, 1), 1.0, 1.5, 3, 6)
CHECKS = (
    CheckResult("test_right", Verdict.PASS, 2, why="It is right.", output="printed " * 200),
    CheckResult("test_wrong", Verdict.FAIL, 3, message="3 of 6 differ", difference=GAP),
    CheckResult("test_raises", Verdict.ERROR, 1, message="ValueError: no", fault=FAULT),
    CheckResult("test_raises_too", Verdict.ERROR, 1, message="ValueError: no", fault=FAULT),
    CheckResult("test_hangs", Verdict.TIMEOUT, 1, message="took too long"),
    CheckResult("test_todo", Verdict.TODO, 1),
    CheckResult("test_skipped", Verdict.SKIP, 4, message="needs a GPU"),
    CheckResult("test_hostile", Verdict.FAIL, 1, message=HOSTILE, output=HOSTILE),
)
REPORT = Report(
    *("exercise3", "work/mine.py", "0" * 64, CHECKS, 2**60, "cpu", "full"),
    *("2026-01-02T03:04:05.678+00:00", 0.25, {"torch": "2"}),
)
BROKEN = replace(REPORT, problem="does not parse: invalid syntax", problem_line=3)


def test_junit_is_what_pytest_writes() -> None:
    root = ET.fromstring(render_junit([REPORT, BROKEN]).encode())
    assert root.tag == "testsuites"
    suite, broken = root
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["8", "3", "3", "1"]
    assert set(suite.keys()) >= {"name", "time", "timestamp"}
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [check.name for check in CHECKS]
    for case, check in zip(cases, CHECKS, strict=True):
        found = [one for one in case if one.tag in ("failure", "error", "skipped")]
        assert len(found) == (check.verdict is not Verdict.PASS)
        points = {p.get("name"): p.get("value") for p in case.iter("property")}
        assert points == {"points": str(check.earned), "possible": str(check.possible)}
    wrong = cases[1].find("failure")
    assert wrong is not None
    assert wrong.get("message") == "3 of 6 differ"
    assert "yours 1, expected 1.5" in str(wrong.text)
    skipped = cases[6].find("skipped")
    assert skipped is not None
    assert skipped.get("type") == "pytest.skip"
    assert {p.get("name"): p.get("value") for p in suite.findall("properties/property")}["score"]
    problem = broken.find("testcase/error")
    assert problem is None or "does not parse" in str(problem.text)


def test_pytest_json_has_the_form_of_pytest_json_report() -> None:
    whole = json.loads(render_pytest_json([REPORT, replace(BROKEN, submission="other.py")]))
    assert set(whole) == {
        "created", "duration", "exitcode", "root", "environment", "summary", "tests"
    }  # fmt: skip
    assert whole["summary"] == {
        "passed": 2, "failed": 12, "skipped": 2, "total": 16, "collected": 16
    }  # fmt: skip
    assert whole["exitcode"] == 1
    for test, check in zip(whole["tests"], CHECKS * 2, strict=True):
        assert test["nodeid"].endswith(f"::exercise3::{check.name}")
        assert test["metadata"]["points"] == check.earned
        assert test["metadata"]["verdict"] == check.verdict
        assert {test[when]["outcome"] for when in ("setup", "teardown")} == {"passed"}
        assert test["call"]["outcome"] == test["outcome"]
        assert ("longrepr" in test["call"]) == (test["outcome"] != "passed")
        assert "u001b" not in json.dumps(test)
    assert whole["tests"][1]["metadata"]["difference"]["largest"] == 0.5
    assert whole["tests"][2]["lineno"] == 6


def test_junit_messages_are_cut_and_texts_are_whole() -> None:
    long = replace(REPORT, checks=(replace(CHECKS[1], message="x" * 2000, difference=None),))
    failure = ET.fromstring(render_junit([long]).encode()).find(".//failure")
    assert failure is not None
    assert len(failure.get("message", "")) == 500
    assert failure.text == "x" * 2000


def test_github_gets_one_annotation_for_each_thing_that_is_wrong() -> None:
    lines = render_github([REPORT]).splitlines()
    assert all(re.match(r"::(error|notice) file=work/mine\.py,line=\d+,title=", x) for x in lines)
    assert len(lines) == 6  # the second exception is the first once more
    assert "line=7,title=exercise3%3A raises (0/1)::ValueError: no" in lines[1]
    assert "%0Alargest difference 0.5" in lines[0]
    assert lines[-1].endswith("::score 2 / 10, seed 1152921504606846976")
    (problem, _) = render_github([BROKEN]).splitlines()
    assert problem.startswith("::error file=work/mine.py,line=3,")
    assert not any("\x1b" in line or "\u202e" in line for line in lines)


def test_gradescope_has_its_fields_and_no_others() -> None:
    record = json.loads(render_gradescope([REPORT], {"exercise3": 2.0, "bug7": 6.0}))
    assert record["score"] == pytest.approx(25 * REPORT.earned / REPORT.possible)
    assert isinstance(record["execution_time"], float)
    top = {"score", "execution_time", "output", "output_format", "stdout_visibility"}
    assert set(record) == top | {"tests"}  # students see it, and previous ones: no seed
    assert str(REPORT.seed) not in json.dumps(record)
    known = {"score", "max_score", "status", "name", "number", "output", "output_format"}
    for test, check in zip(record["tests"], CHECKS, strict=True):
        assert set(test) <= known | {"tags", "visibility"}
        assert test["visibility"] == "visible"
        assert test["output_format"] == "text"
        if check.verdict is Verdict.SKIP:
            assert "score" not in test
        else:
            assert test["status"] == ("passed" if check.earned else "failed")
            assert test["max_score"] == pytest.approx(25 * check.points / REPORT.possible)
            assert test["score"] == (test["max_score"] if check.earned else 0)


def test_gradescope_score_of_a_file_to_repair_begins_where_the_file_as_given_stands() -> None:
    given = replace(REPORT, begins_at=REPORT.earned)
    found = json.loads(render_gradescope([given], {given.exercise: 1}))
    assert found["score"] == 0
    assert sum(test.get("max_score", 0) for test in found["tests"]) == pytest.approx(100)
    assert f"not counting the {given.begins_at} that the file as given earns" in found["output"]
    taken_off, *checks = found["tests"]
    assert taken_off["name"] == "exercise3: less what the file earns as given"
    assert taken_off["output"].endswith("count for nobody: beyond them are 0 of 8.")
    assert (taken_off["score"], "max_score" in taken_off) == (-20, False)
    assert sum(test.get("score", 0) for test in checks) == pytest.approx(20)


def test_gradescope_tests_add_up_to_the_score() -> None:
    passed = replace(CHECKS[1], verdict=Verdict.PASS, message="", difference=None)
    better = replace(REPORT, checks=(CHECKS[0], passed, *CHECKS[2:]), begins_at=REPORT.earned)
    for one in (REPORT, better, replace(better, begins_at=10), replace(REPORT, begins_at=5)):
        found = json.loads(render_gradescope([one], {one.exercise: 1}))
        scores = [test.get("score", 0) for test in found["tests"]]
        assert sum(scores) == pytest.approx(found["score"], abs=1e-4)


def test_what_names_the_repair_is_not_told() -> None:
    checks = (replace(CHECKS[1], name="test_it_learns", explanation="a wrong axis"), *CHECKS)
    told = without_the_repair(replace(REPORT, checks=checks))
    assert [check.claim for check in told.checks] == [
        *("it learns", "right", "a further check", "raises", "raises too", "hangs", "todo"),
        *("skipped", "a further check"),
    ]
    assert told.earned == REPORT.earned
    for text in (render_gradescope([told], {"exercise3": 1.0}), render_exercism(told)):
        assert text.count("3 of 6 differ") == 1  # of the first
        assert "wrong" not in text  # no name of a check, and no explanation
        assert "Its name would give away what there is to repair." in text


def test_exercism_has_its_fields_and_no_others() -> None:
    record = json.loads(render_exercism(REPORT))
    assert (record["version"], record["status"], record["message"]) == (3, "fail", None)
    assert len(record["tests"]) == len(CHECKS) - 1  # it knows no skipped ones
    for test in record["tests"]:
        assert set(test) <= {"name", "status", "message", "output", "test_code", "task_id"}
        assert {"name", "status", "test_code"} <= set(test)
        assert test["status"] in ("pass", "fail", "error")
        assert ("message" in test) is (test["status"] != "pass")
        assert len(test.get("output", "")) <= 500
    assert record["tests"][0]["output"].endswith("… (cut)")
    broken = json.loads(render_exercism(BROKEN))
    assert broken["status"] == "error"
    assert "does not parse" in broken["message"]
    assert "tests" not in broken


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1+1", "' =1+1"),
        ("\t=1+1", "'\t'=1+1"),
        ("＝1+1", "'＝1+1"),
        ("\x00=1+1", "'=1+1"),
        ("a;=1", "a;'=1"),
        ('a; "=1"', """a; "'=1\""""),
        ("a=b", "a=b"),
        ("O'Neill, Ada", "O'Neill, Ada"),
    ],
)
def test_no_cell_is_a_formula(text: str, shown: str) -> None:
    assert spreadsheet_safe(text) == shown
    table = render_gradebook(
        ["exercise3"], [GradebookRow(text, 0.5, [Score(1, 2, Status.GRADED, (text,), text)])]
    )
    assert table.count("\r\n") == 2
    assert "50.00" in table


def test_gradebook_quotes_what_has_commas() -> None:
    import csv

    rows = [GradebookRow('Ada "the first", L.', 1.0, [Score(2, 2, Status.SOLVED)])]
    (line,) = csv.DictReader(render_gradebook(["exercise3"], rows).splitlines())
    assert line["candidate"] == 'Ada "the first", L.'
    assert line["exercise3 earned"] == "2"


def test_level_in_force_and_why_no_stronger_one_is_said_in_every_form() -> None:
    weaker = replace(REPORT, isolation="landlock", refused={"full": "unshare: <not> permitted"})
    said = "landlock (`full` is not available: unshare: <not> permitted)"
    terminal = io.StringIO()
    for part in render_report(weaker):
        Console(file=terminal, width=200).print(part)
    assert f"isolation {said} · " in terminal.getvalue()
    root = ET.fromstring(render_junit([weaker]).encode())
    assert [p.get("value") for p in root.findall(".//property[@name='isolation']")] == [said]
    gradescope = json.loads(render_gradescope([weaker], {"exercise3": 1.0}))
    assert gradescope["output"].endswith(f"isolation {said}")
    assert f"<dd>{html.escape(said)}</dd>" in report_page([(weaker, "")])
    assert json.loads(weaker.to_json())["refused"] == weaker.refused
    assert Report.from_json(weaker.to_json()) == weaker
