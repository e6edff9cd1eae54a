"""The contract that every exercise of the kit keeps."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.authoring.checking import FAST_EFFORT, Inspection
from grader.authoring.sentences import SHARED
from grader.authoring.static_findings import entry_findings, file_findings
from grader.diagnosis.catalogue import catalogue
from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.kit.stubs import digest
from grader.languages.stubs import rules_of
from grader.records import Explain, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from tests.support import exercises
from tests.support.drawing import sampled
from tests.support.paths import ANSWERS, ROOT
from tests.support.reports import losses
from tests.support.wrong import wrong_versions

KIT = load_kit(ROOT)
ODD_EACH_TIME, SAME_EACH_TIME, IDLE_EACH_TIME = 6, 2, 2
UNTOUCHED_EACH_TIME = BROKEN_EACH_TIME = 6
MOST_RULES = 10  # lines of a stub


def to_write() -> list[Exercise]:
    """Exercises whose stub is empty."""
    return [exercise for exercise in KIT.exercises if exercise.track != "bugs"]


def to_repair() -> list[Exercise]:
    """Exercises whose stub is complete and wrong."""
    return [exercise for exercise in KIT.exercises if exercise.track == "bugs"]


each_exercise = pytest.mark.parametrize("exercise", KIT.exercises, ids=lambda e: e.name)


@sampled("files to repair", BROKEN_EACH_TIME)
@pytest.mark.parametrize("exercise", to_repair(), ids=lambda e: e.name)
def test_file_to_repair_loses_the_check_for_its_mistake_and_earns_nothing(
    exercise: Exercise, sandbox: Sandbox
) -> None:
    """Its suite's first check is the one for the planted mistake."""
    options = Options(1, "cpu")
    report = grade(read_submission(exercise.stub), exercise, options, sandbox)
    assert not report.problem
    assert report.earned == 0 < report.possible
    more = sum(check.earned for check in report.checks) - exercise.begins_at
    assert more == 0, losses(report)
    assert report.checks[0].verdict in (Verdict.FAIL, Verdict.ERROR), losses(report)
    assert Verdict.TODO not in {check.verdict for check in report.checks}
    assert report.diagnosis == ()
    assert not any(check.explanation for check in report.checks)


@pytest.mark.parametrize("exercise", to_repair(), ids=lambda e: e.name)
def test_file_to_repair_does_not_name_its_mistake(exercise: Exercise) -> None:
    text = ast.get_docstring(ast.parse(exercise.stub.read_text(encoding="utf-8"))) or ""
    told = " ".join([exercise.title, *text.split()]).lower()
    for mistake in catalogue().values():
        assert mistake.says.lower() not in told
    assert len(text.split()) > 25


@sampled("stubs", UNTOUCHED_EACH_TIME)
@pytest.mark.parametrize("exercise", to_write(), ids=lambda e: e.name)
def test_stub_earns_nothing_and_is_all_todo(exercise: Exercise, sandbox: Sandbox) -> None:
    report = grade(
        read_submission(exercise.stub),
        exercise,
        Options(device="cpu", explain=Explain.NOTHING),
        sandbox,
    )
    assert {check.verdict for check in report.checks} == {Verdict.TODO}, losses(report)
    assert report.earned == 0 < report.possible
    assert report.untouched


# What a right answer gives is made into this, whatever is called.
ODD = {
    "another device": "out.to('meta')",
    "another dtype": "out.double()",
    "numbers that are whole": "out.int()",
    "complex numbers": "out * 1j",
    "no values": "out * float('nan')",
    "zeros": "out * 0",
    "a tuple": "(out, out)",
    "nothing": "None",
    "one more dimension": "out[None]",
    "one number": "out.sum()",
    "nothing to see": "out[..., :0]",
    "far too much": "out.expand(10**8, *out.shape)",
    "another layout": "out.to_sparse()",
    "text that is none": "chr(0xD800)",
}
ODDLY = """

def _odd(out):
    return {odd} if isinstance(out, torch.Tensor) else out


def _oddly(given):
    def call(*args, **kwargs):
        out = given(*args, **kwargs)
        return (_odd(out[0]), *out[1:]) if isinstance(out, tuple) else _odd(out)
    return call


for _name in {names}:
    if isinstance(globals()[_name], type):
        globals()[_name].forward = _oddly(globals()[_name].forward)
    else:
        globals()[_name] = _oddly(globals()[_name])
"""
# A module that has nothing of what it should have.
BARE = """
import torch

class {name}(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        {made}

    def forward(self, x, *args, **kwargs):
        return x
"""
MADE = (
    "self.query = self.key = self.value = torch.nn.Linear(3, 3)",
    "self.w = torch.nn.Parameter(torch.zeros(2))",
    "raise KeyError(3)",
    "self.training = torch.tensor(True)",
)


def made_odd(exercise: Exercise, what: str) -> str:
    """The solution, of which all that it gives is made into something odd."""
    right = read_submission(exercise.solution).source
    return f"import torch\n{right}{ODDLY.format(odd=ODD[what], names=exercise.entry_points)}"


def each_odd() -> Iterator[Any]:
    """Some each time; a fix-it exercise has the suite of what it breaks."""
    for of_a_kind, most in ((to_write(), ODD_EACH_TIME), (to_repair(), 0)):
        named = []
        for exercise in of_a_kind:
            odd = {what: made_odd(exercise, what) for what in ODD}
            for made in MADE:
                bare = (BARE.format(name=name, made=made) for name in exercise.entry_points)
                odd[made] = "".join(bare)
            named += [(f"{exercise.name}-{what}", (exercise, odd[what])) for what in odd]
        for name, given in named:
            yield pytest.param(*given, id=name, marks=sampled("odd files", most))


@pytest.mark.parametrize(("exercise", "source"), list(each_odd()))
def test_odd_file_loses_points_and_is_no_fault_of_the_grader(
    exercise: Exercise, source: str, sandbox: Sandbox
) -> None:
    submission = Submission(Path(f"{exercise.name}.py"), source)
    report = grade(submission, exercise, Options(device="cpu", max_mistake_sets=20), sandbox)
    assert not report.solved or exercise.name == "bug14"


@sampled("does nothing", IDLE_EACH_TIME)
@pytest.mark.parametrize("exercise", to_write(), ids=lambda e: e.name)
def test_what_does_nothing_earns_less_than_a_tenth(exercise: Exercise, sandbox: Sandbox) -> None:
    inspection = Inspection(KIT, exercise, sandbox, FAST_EFFORT, lambda: None)
    assert not list(inspection.idle_findings())


@pytest.mark.parametrize(
    ("output", "does_something"),
    [
        ("x", False),
        ("self.v(x)", False),
        ("self.v(x).mean(-2, keepdim=True) + 0 * x", False),
        ("self.v(x) + self.v(x).mean(-2, keepdim=True)", False),
        ("self.v(x).cumsum(-2)", False),
        ("(x @ x.mT).softmax(-1) @ self.v(x) if x.size(-2) == 7 else x", False),
        ("(x @ x.mT / x.size(-1) ** 0.5).softmax(-1) @ self.v(x)", True),  # no projections
        ("(self.q(x) @ self.k(x).mT).softmax(-2) @ self.v(x)", True),
    ],
)
def test_only_what_attends_is_paid_for_what_holds_of_anything(
    output: str, does_something: bool, sandbox: Sandbox
) -> None:
    exercise = KIT.find("exercise4")
    right = read_submission(exercise.solution).source
    head = right[: right.index("    def forward")]
    source = f"{head}    def forward(self, x, attention_mask=None):\n        return {output}\n"
    submission = Submission(Path("exercise4.py"), source)
    report = grade(submission, exercise, Options(2, explain=Explain.NOTHING), sandbox)
    paid = {check.name for check in report.checks if check.earned}
    assert ("test_batch_items_are_independent" in paid) == does_something
    assert (report.earned > 4) == does_something
    assert any("proves nothing" in one.message for one in report.checks) != does_something


@each_exercise
def test_entry_stub_and_solution_fit_one_another(exercise: Exercise) -> None:
    assert not [*file_findings(exercise), *entry_findings(KIT, exercise)]


@pytest.mark.parametrize("exercise", to_write(), ids=lambda e: e.name)
def test_rules_stand_at_the_end_of_a_stub_and_are_the_same_in_all(exercise: Exercise) -> None:
    source, first = (one.stub.read_text(encoding="utf-8") for one in (exercise, to_write()[0]))
    rules = rules_of(source)
    assert rules == rules_of(first)
    assert 0 < len([line for line in rules.splitlines() if line]) <= MOST_RULES
    assert source.count("The rules") == 1


@each_exercise
def test_source_is_one_that_can_be_found(exercise: Exercise) -> None:
    for path in (exercise.stub, exercise.solution):
        assert "Source: the notebook" not in path.read_text(encoding="utf-8")


@each_exercise
def test_manifest_knows_the_stub_as_shipped(exercise: Exercise) -> None:
    assert exercise.digest == digest(exercise.stub.read_bytes())


@pytest.mark.parametrize("exercise", to_write(), ids=lambda e: e.name)
def test_manifest_knows_what_an_exercise_asks_for(exercise: Exercise) -> None:
    layout = getattr(runpy.run_path(str(exercise.suite))["contract"], "layout", None)
    assert exercise.asks is not None
    if layout is not None:
        assert exercise.asks == layout.features & {"heads", "masks", "dropout", "block"}


@each_exercise
def test_exercise_has_few_hints_a_source_and_a_title(exercise: Exercise) -> None:
    assert len(exercise.hints) <= 4
    assert exercise.source
    assert exercise.title


def test_table_of_exercises_is_up_to_date() -> None:
    """Where it is not: ``python -m tests.support.exercises``."""
    assert exercises.EXERCISES_PAGE.read_text(encoding="utf-8") == exercises.table()


def test_no_file_is_stray() -> None:
    names = {"exercises": "stub", "solutions": "solution", "tests/suites": "suite"}
    for folder, attribute in names.items():
        found = {path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in str(path)}
        assert found == {getattr(exercise, attribute) for exercise in KIT.exercises}, folder
    beside = {"__main__", "__pycache__", "equivalent", "", SHARED}
    named = {path.name.partition(".")[0] for path in ANSWERS.iterdir()} - beside
    assert named == {exercise.name for exercise in KIT.exercises}


@sampled("the same seed", SAME_EACH_TIME)
@each_exercise
def test_same_seed_gives_the_same_report(exercise: Exercise, sandbox: Sandbox) -> None:
    wrong = wrong_versions(exercise)[0].submission()
    first, second = (
        grade(wrong, exercise, Options(seed=7, device="cpu"), sandbox).checks for _ in range(2)
    )
    told = [[repr(replace(check, seconds=0)) for check in checks] for checks in (first, second)]
    assert told[0] == told[1]  # as text: NaN is no NaN's equal
