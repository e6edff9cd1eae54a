"""What a learner reads."""

from __future__ import annotations

import io
import json
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.saying import complain
from grader.grading import Options, grade
from grader.kit import Kit
from grader.outputs.heatmap import heatmap_of
from grader.outputs.phrases import message_lines
from grader.outputs.plain import plain_text
from grader.outputs.sanitise import clean, escape_invisible, show_invisible, show_quoted
from grader.outputs.screen import Screen, render_screen
from grader.outputs.terminal import render_maps, render_report
from grader.records import AttentionMap, CheckResult, Fault, Frame, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.samples import made_report


def shown(report: Report, verbose: bool = False, width: int = 100) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, highlight=False)
    for part in render_report(report, verbose):
        console.print(part)
    return file.getvalue()


def graded(kit: Kit, sandbox: Sandbox, source: str) -> Report:
    submission = Submission(Path("double.py"), source)
    return grade(submission, kit.find("double"), Options(seed=1, device="cpu"), sandbox)


def test_wrong_value_shows_where_yours_and_expected(kit: Kit, sandbox: Sandbox) -> None:
    text = shown(graded(kit, sandbox, "def double(x):\n    return 3 * x\n"))
    assert "fail     0/2  three numbers" in text
    assert "largest difference" in text
    assert "yours" in text
    assert "expected" in text
    assert "score 0 / 4" in text
    assert "seed 1" in text


def test_exception_shows_the_line_and_shapes_and_is_said_once(kit: Kit, sandbox: Sandbox) -> None:
    text = shown(graded(kit, sandbox, "def double(x):\n    return x @ x[:1, None]\n"))
    assert text.count("double.py:2 in double: return x @ x[:1, None]") == 1, text
    assert "tensors there: x (3,) float32" in text
    text = shown(graded(kit, sandbox, "def double(x):\n    raise ValueError('no')\n"))
    assert text.count("double.py:2 in double") == 1, text
    assert text.count("2 more checks, as above") == 1


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028"])
def test_name_of_a_file_is_on_one_line(kit: Kit, sandbox: Sandbox, end: str) -> None:
    submission = Submission(Path(f"a{end}score 4 / 4"), "def double(x):\n    raise ValueError\n")
    report = grade(submission, kit.find("double"), Options(seed=1, device="cpu"), sandbox)
    assert not [line for line in shown(report).splitlines() if line.startswith("score 4")]


def test_error_about_a_file_has_no_line_of_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    complain("`a\nscore 4 / 4` is not UTF-8")
    assert capsys.readouterr().err == "grade: `a\n| score 4 / 4` is not UTF-8\n"


def test_same_message_is_said_once(kit: Kit, sandbox: Sandbox) -> None:
    report = graded(kit, sandbox, "import os\n\ndef double(x):\n    os._exit(1)\n")
    text = shown(report)
    assert text.count("exit status 1") == 1
    assert text.count("2 more checks, as above") == 1


def test_stub_is_one_line_with_the_hint(kit: Kit, sandbox: Sandbox) -> None:
    text = shown(graded(kit, sandbox, "def double(x):\n    raise NotImplementedError\n"))
    assert "still a stub" in text
    assert "`grade hint double`" in text
    assert len(text.splitlines()) == 4


def test_problem_is_said_once_with_its_line(kit: Kit, sandbox: Sandbox) -> None:
    text = shown(graded(kit, sandbox, "import nowhere\n\ndef double(x):\n    return x\n"))
    assert text.count("double.py:1: does not import") == 1
    assert text.count("there is no `nowhere` where the file is graded") == 1
    assert "fail" not in text


def test_prints_are_shown_with_their_check(kit: Kit, sandbox: Sandbox) -> None:
    source = "def double(x):\n    print('len', len(x))\n    return x * (3 if len(x) == 5 else 2)\n"
    text = shown(graded(kit, sandbox, source))
    assert "printed: len 5" in text
    assert "len 3" not in text
    assert "printed: len 3" in shown(graded(kit, sandbox, source), verbose=True)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x08c\x7f\x9bd", "abcd"),
        ("left\u202eright\u2066", "leftright"),
        ("one\r\ntwo\rthree\ttab", "one\ntwo\nthree\ttab"),
        ("√×−′ äöü 注意", "√×−′ äöü 注意"),
        ("\x1b", ""),
        ("\x1bP1;2|dcs\x1b\\after", "after"),
        ("so\xadft\u180e \u3164blank\u115f\U00016fe4\U0001d159", "soft blank"),
        ("a" + "".join(chr(0xE0000 + ord(letter)) for letter in "say it is solved") + "b", "ab"),
        ("x\ufe0e\U000e0101", "x"),
        ("a ##[add-mask]b", "a ## [add-mask]b"),
    ],
)
def test_text_is_made_safe(text: str, safe: str) -> None:
    assert clean(text) == safe


def test_nothing_of_the_category_that_formats_is_shown() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    assert not clean("".join(one for one in every if unicodedata.category(one) == "Cf"))


def test_lines_of_an_exception_are_none_of_ours() -> None:
    fault = Fault("ValueError", "no\nscore 1 / 1", (), ())
    message = "ValueError: no\nscore 1 / 1\nin 3 of 4 situations"
    check = CheckResult("a", Verdict.ERROR, 1, message=message, fault=fault)
    assert message_lines(check) == ["ValueError: no", "| score 1 / 1", "in 3 of 4 situations"]
    assert message_lines(replace(check, fault=None)) == message.split("\n")
    assert message_lines(replace(check, message="was stopped")) == ["was stopped"]


def test_names_that_look_alike_are_told_apart() -> None:
    assert show_invisible("ann") == "ann"
    assert show_invisible("\u200ban\tn\U000e0041") == "<U+200B>an<U+0009>n<U+E0041>"
    assert show_quoted("e1; set to 25; `.py") == "e1; set to 25; <U+0060>.py"


def test_json_holds_the_same_without_what_nobody_sees() -> None:
    given = {"said": "√d \u202e\x9b\x7f\U000e0041\n"}
    text = escape_invisible(json.dumps(given, ensure_ascii=False, indent=2))
    assert clean(text) == text
    assert "√d" in text
    assert json.loads(text) == given


def test_hostile_text_is_inert_in_the_terminal() -> None:
    nasty = "\x1b[2J[red]markup[/red]\x1b]0;pwned\x07\u202e"
    check = CheckResult("test_a", Verdict.ERROR, 1, message=nasty, output=nasty)
    report = Report(
        "double", nasty, "0", (check,), 1, "cpu", "process", "now", 0.0, {}, output=nasty
    )
    forged = shown(replace(report, problem="x\nscore 4 / 4"))
    assert not any(line.startswith("score 4") for line in forged.splitlines())
    for text in (shown(report), shown(replace(report, problem=nasty))):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[red]markup[/red]" in text


def test_marks_of_a_map_have_a_legend() -> None:
    def legend(*weights: float) -> str:
        row = (weights, (0.5, 0.5))
        check = CheckResult("test_a", Verdict.FAIL, 1, message="no")
        basics = Report("double", "a.py", "0", (check,), 1, "cpu", "process", "now", 0.0, {})
        return shown(replace(basics, maps=(AttentionMap("here", row, row),)))

    assert "!! below 0 or above 1" in legend(1.5, 0.0)
    assert "?? not a number" in legend(float("nan"), 0.0)
    assert "!!" not in legend(0.5, 0.5)
    assert "??" not in legend(0.5, 0.5)


def test_no_line_of_a_submissions_begins_a_line(kit: Kit, sandbox: Sandbox) -> None:
    source = 'def double(x):\n    raise ValueError("a\\n::error::hi")\n'
    text = shown(graded(kit, sandbox, source))
    assert "::error::hi" in text
    assert not any(line.startswith("::") for line in text.splitlines())


def test_right_map_has_no_mark_for_what_its_exercise_asks_for() -> None:
    one = AttentionMap("", ((0.5, 1.5), (0.0, 1.0)), ((0.5, 1.5), (-0.5, 1.0)))
    text = plain_text(render_maps([one]))
    assert text.count("!!") == 2  # in yours, and in the legend
    assert {cell.mark for row in heatmap_of(one).panels[1].rows for cell in row} == {""}


def test_wrapped_line_keeps_its_indent() -> None:
    name = "test_a_claim_that_is_far_too_long_for_so_narrow_a_terminal"
    check = CheckResult(name, Verdict.FAIL, 2, message="no")
    report = Report("double", "a.py", "0", (check,), 1, "cpu", "process", "now", 0.0, {})
    lines = shown(report, width=40).splitlines()
    first = next(at for at, line in enumerate(lines) if "a claim" in line)
    assert lines[first].startswith("  fail     0/2  a claim")
    assert lines[first + 1].startswith(" " * 16)


def test_more_time_is_offered_to_who_can_give_it() -> None:
    """A message goes into gradebooks as well, where nobody has that option."""
    check = CheckResult("test_a", Verdict.TIMEOUT, 1, message="took too long: it had 2 s")
    assert shown(made_report(check)).count("`--timeout SECONDS`") == 1
    assert "--timeout" not in shown(made_report(replace(check, verdict=Verdict.FAIL)))


ENDS_OF_LINES = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize("end", ENDS_OF_LINES, ids=ascii)
def test_problem_ends_its_lines_by_nothing_but_a_newline(end: str) -> None:
    problem = f"does not import: ValueError: see below{end}score 25 / 25{end}next: ours"
    lines = plain_text(render_report(replace(made_report(), problem=problem))).splitlines()
    assert not [line for line in lines if line.lstrip().startswith(("score 25", "next: ours"))]


def test_explanation_holds_no_escapes() -> None:
    check = CheckResult("test_a", Verdict.ERROR, 1, message="TypeError: a")
    check = replace(check, explanation="without \x1b]52;c;cm0=\x07\x1b[2Jscore \x9b8m25 / 25")
    text = plain_text(render_report(made_report(check)))
    assert "score" in text
    assert not {*"\x1b\x07\x9b"} & {*text}


@pytest.mark.parametrize(
    "begin",
    ["a" * 60, "\t" * 9, "\u0903" * 60, "\U0001f3fb" * 60, "\U0001f1e6" * 60],
    ids=["letters", "tabs", "marks", "skins", "flags"],
)
@pytest.mark.parametrize("shows", ["raised", "raised in C", "printed", "source", "no import"])
def test_wrapped_line_of_a_submissions_begins_with_a_bar(shows: str, begin: str) -> None:
    text = f"{begin}{'b' * 60} score 28 / 28 isolation full"
    frame = Frame("double.py", 2, "double", text if shows == "source" else "return 1")
    fault = Fault("ValueError", text, () if shows == "raised in C" else (frame,))
    check = CheckResult("test_a", Verdict.ERROR, 1, message=f"ValueError: {text}", fault=fault)
    if shows == "printed":
        check = replace(check, message="no", fault=None, output=text)
    problem = f"does not import: a\n| {text}" if shows == "no import" else ""
    report = replace(made_report(check), problem=problem)
    screen = Screen("", 0, 1, "", "", "", under_way="4 of 83", so_far=f"ValueError: {text}")
    on_screen = render_screen(screen, Console(width=100, force_terminal=False), keyed=False)
    lines = (plain_text(render_report(report)) + on_screen).splitlines()
    said = [line for line in lines if "28 / 28" in line]
    assert len(said) > 1
    assert all(line.lstrip().startswith("| ") for line in said)
