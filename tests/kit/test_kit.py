"""The contract that every exercise of the kit keeps."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from grader.diagnosis.catalogue import catalogue
from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.kit.stubs import digest
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from tests.support import exercises
from tests.support.paths import ANSWERS, ROOT
from tests.support.sampling import some_of
from tests.support.sentences import REFUSED

KIT = load_kit(ROOT)
ENOUGH_WRONG = {"exercise3": 15, "exercise5": 15, **{f"decoder{n}": 20 for n in range(1, 10)}}
RIGHT_EACH_TIME = 4
WRONG_EACH_TIME = 5
ODD_EACH_TIME = 24
SOLUTIONS_EACH_TIME = 60  # of each exercise's, one at least
SAME_EACH_TIME = 10
SEEDS = (1, 2, 11)
# Fix-it exercises that ask for more than the contract of what they break.
UNSTEADY = {"bug2": 2, "bug19": 2}  # points that go with some inputs only
OWN_CONTRACT = {"bug10", "bug11", "bug14"}


@dataclass(frozen=True)
class Wrong:
    """A known-wrong version: the solution with some text replaced."""

    exercise: Exercise
    mistake: EditMistake

    def submission(self) -> Submission:
        source = edited(read_submission(self.exercise.solution).source, [self.mistake])
        assert source is not None, "a text to be replaced does not stand once in the solution"
        ast.parse(source)  # a version that is not Python proves nothing
        return Submission(Path(f"{self.exercise.name}.py"), source)


def right_files(exercise: Exercise) -> list[Path]:
    """Right answers; those of the exercise that a fix-it exercise breaks repair it as well."""
    own = sorted((ANSWERS / exercise.name).glob("right_*.py"))
    if exercise.track != "bugs" or exercise.name in OWN_CONTRACT:
        return own
    variant = re.search(r"/test_(\w+)\.py", exercise.suite.read_text(encoding="utf-8"))
    assert variant is not None
    return [*own, *sorted((ANSWERS / variant[1]).glob("right_*.py"))]


def wrong_versions(exercise: Exercise) -> list[Wrong]:
    return [Wrong(exercise, mistake) for mistake in read_edits(exercise.mistakes)]


def to_write() -> list[Exercise]:
    """Exercises whose stub is empty."""
    return [exercise for exercise in KIT.exercises if exercise.track != "bugs"]


def to_repair() -> list[Exercise]:
    """Exercises whose stub is complete and wrong."""
    return [exercise for exercise in KIT.exercises if exercise.track == "bugs"]


each_exercise = pytest.mark.parametrize("exercise", KIT.exercises, ids=lambda e: e.name)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def losses(report: Report) -> list[str]:
    """What a report says against a submission, for the message of a failed test."""
    found = [f"{c.name}: {c.verdict} {c.message}" for c in report.checks if c.earned < c.possible]
    return [report.problem, *found, f"seed {report.seed}"]


@pytest.mark.parametrize("exercise", to_repair(), ids=lambda e: e.name)
def test_file_to_repair_loses_the_check_for_its_mistake_and_earns_nothing(
    exercise: Exercise, sandbox: Sandbox
) -> None:
    """Its suite's first check is the one for the planted mistake."""
    options = Options(1, "cpu")
    report = grade(read_submission(exercise.stub), exercise, options, sandbox)
    assert not report.problem
    assert report.earned == 0 < report.possible
    assert exercise.begins_at - UNSTEADY.get(exercise.name, 0) <= sum(
        check.earned for check in report.checks
    )
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


def each_solution() -> Iterator[Any]:
    """Every solution at one of its seeds at least."""
    named = [(f"{one.name}-{seed}", (one, seed)) for one in KIT.exercises for seed in SEEDS]
    yield from some_of(named, SOLUTIONS_EACH_TIME)


@pytest.mark.parametrize(("exercise", "seed"), list(each_solution()))
def test_solution_earns_everything(exercise: Exercise, seed: int, sandbox: Sandbox) -> None:
    options = Options(seed, "cpu", explain=Explain.NOTHING)
    report = grade(read_submission(exercise.solution), exercise, options, sandbox)
    assert report.solved, losses(report)
    assert Verdict.SKIP not in {check.verdict for check in report.checks}


def each_right() -> Iterator[Any]:
    """Of each exercise some each time, of those that it borrows two."""
    for exercise in KIT.exercises:
        files = right_files(exercise)
        own = [path for path in files if path.parent.name == exercise.name]
        for paths, most in ((own, RIGHT_EACH_TIME), (files[len(own) :], 2)):
            named = [(f"{exercise.name}-{path.stem}", (exercise, path)) for path in paths]
            yield from some_of(named, most)


@pytest.mark.parametrize(("exercise", "path"), list(each_right()))
def test_right_version_earns_everything(exercise: Exercise, path: Path, sandbox: Sandbox) -> None:
    report = grade(
        read_submission(path), exercise, Options(11, "cpu", explain=Explain.NOTHING), sandbox
    )
    assert report.solved, losses(report)


@pytest.mark.parametrize(
    ("path", "seed"),
    [
        # An input of the ReLU lay within rounding of 0, where its gradient jumps.
        (ANSWERS / "exercise6/right_plain.py", 1413508122),
        # In bfloat16, one token of four went across such a kink.
        (KIT.find("exercise6").solution, 1872732106),
        # In bfloat16, which weights were kept could not be told from so long an output.
        (KIT.find("exercise3").solution, 1235275903),
        (KIT.find("exercise3").solution, 82287367),
        # A tensor was to be filled anew with numbers that its dtype does not have.
        (KIT.find("decoder2").solution, 877556852),
        # A share of one of two keys was so small that its logarithm was rounding.
        (KIT.find("decoder2").solution, 1847953550),
        (KIT.find("decoder2").solution, 1273255733),
        # The only product of a query and a key came near 0: its rounding showed.
        (KIT.find("warmup4").solution, 7000),
        # What is left of gradients that cancel over 129 tokens is rounding.
        (ANSWERS / "decoder5/styles/right_vmap_tall.py", 482),
        # Which of as many keys as features were dropped could not be told from the output.
        (KIT.find("exercise3").solution, 100157),
        # What an answer held for each score and feature was more than the memory it has.
        (ANSWERS / "warmup2/situations/right_ellipsis_einsum.py", 100045),
    ],
)
def test_chance_decides_nothing(path: Path, seed: int, sandbox: Sandbox) -> None:
    """Seeds at which it did."""
    exercise = next(one for one in KIT.exercises if one.name in path.parts or one.solution == path)
    options = Options(seed, "cpu", explain=Explain.NOTHING)
    report = grade(read_submission(path), exercise, options, sandbox)
    assert report.solved, losses(report)


def each_wrong() -> Iterator[Any]:
    """Of each exercise some each time."""
    for exercise in KIT.exercises:
        named = [(f"{exercise.name}-{w.mistake.name}", (w,)) for w in wrong_versions(exercise)]
        yield from some_of(named, WRONG_EACH_TIME)


@pytest.mark.parametrize("wrong", list(each_wrong()))
def test_wrong_version_loses_the_check_that_names_it(wrong: Wrong, sandbox: Sandbox) -> None:
    report = grade(
        wrong.submission(), wrong.exercise, Options(11, "cpu", explain=Explain.NOTHING), sandbox
    )
    checks = {check.name: check for check in report.checks}
    assert not report.solved
    if wrong.mistake.loses == REFUSED:
        assert report.problem_line
        assert "this exercise" in report.problem
    else:
        assert wrong.mistake.loses in checks, sorted(checks)
        assert checks[wrong.mistake.loses].earned == 0, losses(report)


# What a right answer gives is made into this, whatever is called.
ODD = {
    "another device": "out.to('meta')",
    "another dtype": "out.double()",
    "numbers that are whole": "out.int()",
    "complex numbers": "out * 1j",
    "no values": "out * float('nan')",
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


def each_odd() -> Iterator[Any]:
    """Some each time; a fix-it exercise has the suite of what it breaks."""
    for of_a_kind, most in ((to_write(), ODD_EACH_TIME), (to_repair(), 0)):
        named = []
        for exercise in of_a_kind:
            right, names = read_submission(exercise.solution).source, exercise.entry_points
            odd = {what: right + ODDLY.format(odd=out, names=names) for what, out in ODD.items()}
            for made in MADE:
                odd[made] = "".join(BARE.format(name=name, made=made) for name in names)
            named += [(f"{exercise.name}-{what}", (exercise, odd[what])) for what in odd]
        yield from some_of(named, most)


@pytest.mark.parametrize(("exercise", "source"), list(each_odd()))
def test_odd_file_loses_points_and_is_no_fault_of_the_grader(
    exercise: Exercise, source: str, sandbox: Sandbox
) -> None:
    submission = Submission(Path(f"{exercise.name}.py"), "import torch\n" + source)
    report = grade(submission, exercise, Options(device="cpu", search=20), sandbox)
    assert not report.solved or exercise.name == "bug14"


@each_exercise
def test_enough_right_and_wrong_versions(exercise: Exercise) -> None:
    if exercise.track == "bugs":
        assert len(wrong_versions(exercise)) >= 2
        assert exercise.name in OWN_CONTRACT or len(right_files(exercise)) >= 4
        return
    assert len(right_files(exercise)) >= 4
    assert len(wrong_versions(exercise)) >= ENOUGH_WRONG.get(exercise.name, 8)


@each_exercise
def test_stub_and_solution_have_the_same_signatures(exercise: Exercise) -> None:
    stub, solution = (signatures(path) for path in (exercise.stub, exercise.solution))
    assert stub == {name: solution.get(name) for name in stub}
    assert set(exercise.entry_points) <= {name.partition(".")[0] for name in stub}


def signatures(path: Path) -> dict[str, str]:
    """Every function and method of a file with its arguments and types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    owners = [("", tree), *((f"{n.name}.", n) for n in tree.body if isinstance(n, ast.ClassDef))]
    return {
        prefix + node.name: f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
        for prefix, owner in owners
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and node.returns
    }


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
def test_exercise_has_its_files_hints_and_source(exercise: Exercise) -> None:
    assert 2 <= len(exercise.hints) <= 4
    assert all(hint.strip().endswith("?") for hint in exercise.hints)
    assert exercise.source
    assert exercise.title
    for path in (exercise.stub, exercise.solution, exercise.suite):
        assert path.is_file(), path


def test_table_of_exercises_is_up_to_date() -> None:
    """Where it is not: ``python -m tests.support.exercises``."""
    assert exercises.FILE.read_text(encoding="utf-8") == exercises.table()


def test_no_file_is_stray() -> None:
    names = {"exercises": "stub", "solutions": "solution", "tests/suites": "suite"}
    for folder, attribute in names.items():
        found = {path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in str(path)}
        assert found == {getattr(exercise, attribute) for exercise in KIT.exercises}, folder
    answers = {path.name for path in ANSWERS.iterdir() if path.is_dir()}
    assert answers == {exercise.name for exercise in KIT.exercises}


@pytest.mark.parametrize(
    "exercise", list(some_of([(one.name, (one,)) for one in KIT.exercises], SAME_EACH_TIME))
)
def test_same_seed_gives_the_same_report(exercise: Exercise, sandbox: Sandbox) -> None:
    wrong = wrong_versions(exercise)[0].submission()
    first, second = (
        grade(wrong, exercise, Options(seed=7, device="cpu"), sandbox).checks for _ in range(2)
    )
    told = [[repr(replace(check, seconds=0)) for check in checks] for checks in (first, second)]
    assert told[0] == told[1]  # as text: NaN is no NaN's equal
