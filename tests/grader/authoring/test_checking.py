"""A kit's author is told what falls short: file, line and the next step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.authoring.answers import read_answers
from grader.authoring.checking import Effort, Inspection
from grader.authoring.layout import EXAMPLE_NAME, add_exercise, make_kit
from grader.authoring.static_findings import kit_findings
from grader.cli import run_command
from grader.diagnosis.edits import read_edits
from grader.errors import GradeError
from grader.kit import load_kit
from grader.sandbox.process import Sandbox

ONCE = Effort(1, 1, named=False, mutants=0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_kit(tmp_path / "kit")
    return tmp_path / "kit"


def findings(home: Path, sandbox: Sandbox, effort: Effort = ONCE) -> Iterator[str]:
    kit = load_kit(home)
    inspection = Inspection(kit, kit.find(EXAMPLE_NAME), sandbox, effort, lambda: None)
    for one in inspection.findings():
        yield f"{one.file.name}:{one.line}: {one.text}"


def rewrite(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        text = (home / file).read_text(encoding="utf-8")
        assert old in text
        (home / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def write(file: str, text: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        (home / file).write_text(text, encoding="utf-8")

    return change


def remove(file: str) -> Callable[[Path], None]:
    return lambda home: (home / file).unlink()


STUB, SOLUTION = "exercises/first/unit_rows.py", "solutions/first/unit_rows.py"
SUITE, MISTAKES = "tests/suites/first/test_unit_rows.py", "solutions/first/unit_rows.toml"
MANIFEST, LOOP = "exercises/kit.toml", "tests/answers/unit_rows/right_loop.py"
ANSWERS, EQUIVALENT = "tests/answers/unit_rows.answers", "tests/answers/equivalent.toml"
LAST = "    return x / (squares + 1e-6).sqrt()\n"  # of the solution
SAME = f"-{LAST}+{LAST.replace('x /', '1 * x /')}"
WRONG = f"-{LAST}+{LAST.replace('x /', '2 * x /')}"
SHORTCOMINGS = {
    "no suite": (remove(SUITE), "test_unit_rows.py:0: the suite of `unit_rows` is missing"),
    "a suite that raises": (
        rewrite(SUITE, "claims.remembers_nothing", "claims.forgets"),
        "test_unit_rows.py:0: cannot be loaded: AttributeError",
    ),
    "a check that says nothing": (
        rewrite(SUITE, '    """Its length is 0, and nothing may be divided by that."""\n', ""),
        "test_unit_rows.py:29: `test_row_of_zeros_stays_zeros` says nothing",
    ),
    "a solution that does not parse": (
        rewrite(SOLUTION, "return", "retrun"),
        "unit_rows.py:0: cannot be read",
    ),
    "another signature": (
        rewrite(SOLUTION, "(x: Tensor)", "(x: Tensor, eps: float = 1e-6)"),
        "`unit_rows(x: Tensor) -> Tensor` of the stub is `unit_rows(x: Tensor, eps: float=1e-06)",
    ),
    "an entry point that is not there": (
        rewrite(MANIFEST, 'entry_points = ["unit_rows"]', 'entry_points = ["Rows"]'),
        "unit_rows.py:0: defines no `Rows`, which `entry_points` names",
    ),
    "a stub that answers": (
        rewrite(STUB, "raise NotImplementedError", "return x"),
        "unit_rows.py:0: as it is given, the stub earns",
    ),
    "a hint that tells": (
        rewrite(MANIFEST, "of its gradient?", "of its gradient: 0."),
        "kit.toml:17: a hint is no question",
    ),
    "a solution that is wrong": (
        rewrite(SOLUTION, "sum(-1", "mean(-1"),
        "unit_rows.py:0: is right, and at seed 1 loses `test_output_matches_the_formula`",
    ),
    "a right answer that is wrong": (
        rewrite(LOOP, "** 0.5", "** 0.4"),
        "right_loop.py:0: is right, and at seed 1 loses `test_output_matches_the_formula`",
    ),
    "too few right answers": (remove(LOOP), "unit_rows:0: 2 right answers; write 3"),
    "an edit that fits nowhere": (
        rewrite(MISTAKES, '[["x.square()",', '[["x.squared()",'),
        "unit_rows.toml:13: `not-squared` does not fit the solution",
    ),
    "a mistake that is none": (
        rewrite(MISTAKES, '"x.abs()"]', '"x.abs().square()"]'),
        "unit_rows.toml:13: `not-squared` keeps `test_output_matches_the_formula` at seed 1",
    ),
    "a mistake that is not refused": (
        rewrite(MISTAKES, '"test_row_of_zeros_stays_zeros"', '"the file is refused"'),
        "`nothing-added` is not refused; name what it may not use in the manifest's `forbidden`",
    ),
    "a sentence that nothing holds": (
        rewrite(STUB, "Rows of length one.", "Rows of any length."),
        "unit_rows.py:1: no entry in `unit_rows.sentences` says what holds `Rows of any length.`",
    ),
    "a wrong answer that is right": (
        write(ANSWERS, f"Answers.\n\n== wrong_it < solution\n{SAME}"),
        "unit_rows.answers:3: `wrong_it` is wrong, and earns every point",
    ),
    "a wrong answer that keeps a check": (
        write(ANSWERS, f"Answers.\n\n== wrong_it < solution\n# loses: test_zeros\n{WRONG}"),
        "unit_rows.answers:3: `wrong_it` keeps `test_zeros`; ask there for what it gets wrong",
    ),
    "a right answer among edits that is wrong": (
        write(ANSWERS, f"Answers.\n\n== right_it < solution\n{WRONG}"),
        "unit_rows.answers:3: `right_it` is right, and at seed 1 loses `test_output_matches",
    ),
    "an edit of an answer that fits nowhere": (
        write(ANSWERS, "Answers.\n\n== wrong_it < solution\n-nothing\n"),
        "unit_rows.answers`: `wrong_it`: found 0 times, instead of once: nothing",
    ),
    "a check that is none": (
        rewrite(MISTAKES, '"test_row_of_zeros_stays_zeros"', '"test_zeros"'),
        "`nothing-added` loses `test_zeros`, and there is no such check",
    ),
}


@pytest.mark.parametrize("what", SHORTCOMINGS)
def test_what_falls_short_is_told_with_its_place(what: str, home: Path, sandbox: Sandbox) -> None:
    change, says = SHORTCOMINGS[what]
    change(home)
    told = []
    for one in findings(home, sandbox):
        told.append(one)
        if says in one:
            return
    pytest.fail(f"not among {told}")


def test_suite_that_asks_for_nothing_pays_who_does_nothing(home: Path, sandbox: Sandbox) -> None:
    suite = home / SUITE
    text = suite.read_text(encoding="utf-8")
    suite.write_text(text.replace("entry=", "tried=False,\n    entry="), encoding="utf-8")
    told = "an answer that gives zeros earns"
    assert any(told in one for one in findings(home, sandbox))


@pytest.mark.slow("all that an exercise has is graded once")
def test_changed_stub_is_known_from_then_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(STUB, "raise NotImplementedError", "raise NotImplementedError  # yours")(home)
    assert load_kit(home).find(EXAMPLE_NAME).digest not in ("", stub_digest(home))
    assert run_command(["kit", "check", str(home), "--fast"]) == 0
    assert "the manifest knows the stub of `unit_rows` as it is now" in capsys.readouterr().out
    assert load_kit(home).find(EXAMPLE_NAME).digest == stub_digest(home)


@pytest.mark.slow("some twenty changes, each graded")
def test_change_that_no_check_notices_is_told_until_it_is_listed_with_a_reason(
    home: Path, sandbox: Sandbox
) -> None:
    rewrite(SOLUTION, "    squares", "    spare = 3\n    squares")(home)
    (told,) = mutant_findings(home, sandbox)
    change = "spare = 3 -> spare = 4"
    assert told.startswith(f"unit_rows.py:15: no check notices `{change}`; add one that does, or")
    for entry in (change, "spare = 3 -> …"):
        write(EQUIVALENT, f'[unit_rows]\n"{entry}" = "nothing reads it"\n')(home)
        assert not list(mutant_findings(home, sandbox))


def test_change_that_is_listed_wrongly_is_told(home: Path, sandbox: Sandbox) -> None:
    squares = "squares = x.square().sum(-1, keepdim=True)"
    noticed = f"{squares} -> {squares.replace('sum', 'mean')}"
    listed = f'"x -> y" = "none"\n"{squares} -> {squares.replace("-1", "-2")}" = ""\n'
    write(EQUIVALENT, f'[unit_rows]\n{listed}"{noticed}" = "a rumour"\n')(home)
    assert [*mutant_findings(home, sandbox, 0)] == [
        "equivalent.toml:2: no small change of `unit_rows` is `x -> y`; take it out, or renew it",
        f"equivalent.toml:3: `{squares} -> {squares.replace('-1', '-2')}` is listed without a "
        "reason; say why it changes no result",
    ]
    told = f"equivalent.toml:4: `{noticed}` is listed as equivalent, and loses points; take it out"
    assert told in mutant_findings(home, sandbox)


def mutant_findings(home: Path, sandbox: Sandbox, most: int = 200) -> Iterator[str]:
    kit = load_kit(home)
    effort = Effort(1, 1, named=False, mutants=most)
    inspection = Inspection(kit, kit.find(EXAMPLE_NAME), sandbox, effort, lambda: None)
    for one in inspection.mutant_findings():
        yield f"{one.file.name}:{one.line}: {one.text}"


@pytest.mark.slow("a dozen gradings")
def test_what_is_not_drawn_is_counted(home: Path, sandbox: Sandbox) -> None:
    kit = load_kit(home)
    effort = Effort(1, 1, named=False, mutants=1, answers=1, mistakes=2)
    inspection = Inspection(kit, kit.find(EXAMPLE_NAME), sandbox, effort, lambda: None)
    assert not list(inspection.findings())
    changes = inspection.left_out.pop("changes")
    assert changes > 1
    left_out = {"right answers": 2, "wrong ones": 0, "known mistakes": 6}
    assert inspection.left_out == left_out


@pytest.mark.slow("all that an exercise has is graded once")
def test_mistake_that_is_refused_is_known_by_that(home: Path, sandbox: Sandbox) -> None:
    imports = '["from", "from torch.nn.functional import normalize\\nfrom"]'
    edits = f'[{imports}, ["x / ", "normalize(x) / "]]'
    refused = '\n[[wrong]]\nname = "refused"\nseen = "here"\nloses = "the file is refused"\n'
    text = (home / MISTAKES).read_text(encoding="utf-8")
    write(MISTAKES, f"{text}{refused}edits = {edits}\n")(home)
    assert not list(findings(home, sandbox))


@pytest.mark.slow("all that an exercise has is graded once")
def test_check_that_is_lost_only_beside_others_counts_as_lost(home: Path, sandbox: Sandbox) -> None:
    """Zeros stay zeros where all is 0: that this proves nothing is known of the whole alone."""
    zeros = LAST.replace("x /", "0 * x /")
    loses = "# loses: test_row_of_zeros_stays_zeros"
    write(ANSWERS, f"Answers.\n\n== wrong_zeros < solution\n{loses}\n-{LAST}+{zeros}")(home)
    assert not list(findings(home, sandbox))


@pytest.mark.slow("two commands, each with processes of its own")
def test_kit_is_held_to_what_its_exercises_share(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(EQUIVALENT, '[rows]\n"x -> y" = "none"\n')(home)
    write(SUITE, "")(home)  # so that nothing is graded
    assert run_command(["kit", "check", str(home)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith(
        "equivalent.toml:1: there is no exercise `rows`; take out its table, or mend the name"
    )
    assert told[-1] == "0 of 1 exercises hold"
    assert run_command(["kit", "check", str(home), "--fast"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == (
        "not tried, with --fast: 0 right answers, 0 wrong ones, 0 known mistakes, 0 changes, "
        "most seeds, what reports say"
    )


DAMAGED = {
    "tests/answers/unit_rows.sentences": b"\xff",
    ANSWERS: b"\xff",
    EQUIVALENT: b"\xff",
    MISTAKES: b"wrong = " + b"[" * 5000,
    MANIFEST: b'[kit]\n[[exercise]]\nentry_points = [""]\n',
}


def read_all(home: Path) -> None:
    exercise = (kit := load_kit(home)).find(EXAMPLE_NAME)
    list(kit_findings(kit)), read_answers(exercise), read_edits(exercise.mistakes)


@pytest.mark.parametrize("file", DAMAGED)
def test_damaged_file_is_one_clear_line(home: Path, file: str) -> None:
    (home / file).write_bytes(DAMAGED[file])
    with pytest.raises(GradeError, match=rf"`\S*{file}` (is damaged|cannot be read): [^\n]+$"):
        read_all(home)


@pytest.mark.slow("a command with a process of its own")
def test_title_is_no_markup(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(MANIFEST, 'title = "', 'title = "[/bold] ')(home)
    write(SUITE, "")(home)  # so that nothing is graded
    assert run_command(["kit", "check", str(home)]) == 1
    assert capsys.readouterr().out.endswith("0 of 1 exercises hold\n")


def stub_digest(home: Path) -> str:
    from grader.kit.stubs import digest

    return digest((home / STUB).read_bytes())


@pytest.mark.slow("two exercises at two seeds, and what reports say of each mistake")
def test_what_is_laid_out_holds(home: Path, sandbox: Sandbox) -> None:
    add_exercise(home, "rows_again", "second")
    assert not list(findings(home, sandbox, Effort(2, 2)))
    assert len(load_kit(home).exercises) == 2


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Unit-Rows", "`Unit-Rows` can be no name here"),
        ("class", "`class` can be no name here"),
        (EXAMPLE_NAME, "there is a `unit_rows` already"),
    ],
)
def test_name_that_will_not_do_is_refused(home: Path, name: str, says: str) -> None:
    before = sorted(home.rglob("*"))
    with pytest.raises(GradeError, match=says):
        add_exercise(home, name, "first")
    assert sorted(home.rglob("*")) == before


def test_folder_that_holds_something_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert run_command(["kit", "new", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_kit_is_named_once_by_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADE_KIT", str(home))
    assert run_command(["list"]) == 0
    assert EXAMPLE_NAME in capsys.readouterr().out


def test_class_is_an_entry_point(home: Path, sandbox: Sandbox) -> None:
    for file in (STUB, SOLUTION):
        text = (home / file).read_text(encoding="utf-8")
        text += "\n\nclass Rows:\n    def forward(self, x: Tensor) -> Tensor: ...\n"
        (home / file).write_text(text, encoding="utf-8")
    rewrite(MANIFEST, '["unit_rows"]', '["unit_rows", "Rows"]')(home)
    assert "defines no" not in next(findings(home, sandbox), "")
