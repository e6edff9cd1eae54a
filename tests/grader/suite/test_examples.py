"""The authors' API is small, and each of its names has an example that holds."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import shutil
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

import grader.attention
import grader.suite
from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.records import Explain, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import read_submission
from tests.support.paths import ROOT
from tests.support.reports import losses

PACKAGES = (
    grader.suite, grader.suite.claims, grader.attention, grader.attention.claims
)  # fmt: skip
MOST_NAMES = {
    "grader.suite": 20, "grader.suite.claims": 25,
    "grader.attention": 20, "grader.attention.claims": 31,
}  # fmt: skip
# The exercise whose contract suits the examples that are checks.
USUAL = {"grader.suite": "lora", "grader.suite.claims": "lora", "grader.attention": "exercise3"}
OTHERS = {
    "claims.passes_gradcheck": "layer_norm",
    "claims.call_raises": "top_k_routing",
    "claims.matches_the_formula_with_everything_given": "exercise3",
    **dict.fromkeys(
        (
            "claims.future_has_no_influence", "claims.future_gets_no_gradient",
            "claims.handles_a_long_sequence_from_its_start", "claims.parts_agree_with_the_whole",
            "claims.branches_agree", "attention.heads_are_blocks",
            "attention.output_mixes_the_heads", "attention.refuses_heads_that_do_not_divide",
        ),
        "decoder7",
    ),
}  # fmt: skip
HEAD = """
from dataclasses import replace

import torch

from grader.attention import claims as attention
from grader.suite import *

contract = load_suite(__file__, "../{track}/{suite}").contract

"""


def public_names() -> list[tuple[ModuleType, str]]:
    return [(package, name) for package in PACKAGES for name in package.__all__]


def docstring(package: ModuleType, name: str) -> str:
    """Its own; of a constant the text below it."""
    value = getattr(package, name)
    if isinstance(value, type | ModuleType) or inspect.isfunction(value):
        return inspect.getdoc(value) or ""
    for module in [one for one in sys.modules if one.startswith(package.__name__)]:
        body = ast.parse(inspect.getsource(importlib.import_module(module))).body
        for place, node in enumerate(body[:-1]):
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            below = body[place + 1]
            if [getattr(one, "id", "") for one in targets] == [name] and isinstance(
                below, ast.Expr
            ):
                return inspect.cleandoc(ast.literal_eval(below.value))
    return ""


def example(package: ModuleType, name: str) -> str:
    return textwrap.dedent(docstring(package, name).partition("\nExample:\n")[2])


def exercise_of(package: ModuleType, name: str) -> str:
    """That of the kit, or of the kit `training`, in whose suite an example is a check."""
    where = package.__name__.removeprefix("grader.").removeprefix("suite.").partition(".")[0]
    if inspect.getmodule(getattr(package, name)) is grader.attention.claims.memory:
        return "decoder2"
    return OTHERS.get(f"{where}.{name}", USUAL.get(package.__name__, "exercise3"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.__name__)
def test_public_names_are_few(package: ModuleType) -> None:
    assert len(package.__all__) <= MOST_NAMES[package.__name__]
    assert sorted({*package.__all__}, key=str.lower) == sorted(package.__all__, key=str.lower)


def test_every_public_name_has_an_example() -> None:
    assert not [f"{one.__name__}.{name}" for one, name in public_names() if not example(one, name)]


def test_examples_at_the_prompt_give_what_they_show() -> None:
    known = {"torch": torch, "Tensor": Tensor}
    known |= {n: getattr(p, n) for p in (grader.attention, grader.suite) for n in p.__all__}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for package, name in public_names():
        text = example(package, name)
        tests = doctest.DocTestParser().get_doctest(text, dict(known), name, None, 0)
        told: list[str] = []
        runner.run(tests, out=told.append)
        assert not told, "".join(told)
    assert runner.tries > 30


def each_exercise() -> list[str]:
    checks = [one for one in public_names() if ">>>" not in example(*one)]
    return sorted({exercise_of(*one) for one in checks})


@pytest.mark.slow("the suites of examples, each in all situations of an exercise")
@pytest.mark.parametrize("exercise", each_exercise())
def test_examples_that_are_checks_hold_of_a_right_answer(
    exercise: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    known = [load_kit(home).find_or_none(exercise) for home in (ROOT, ROOT / "kits" / "training")]
    one = next(found for found in known if found is not None)
    texts = [
        example(package, name)
        for package, name in public_names()
        if ">>>" not in example(package, name) and exercise_of(package, name) == exercise
    ]
    suite = with_examples(one, texts, tmp_path / "suites")
    named = [
        node.id if isinstance(node, ast.Name) else node.name
        for text in texts
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        or isinstance(node, ast.FunctionDef)
    ]
    report = grade(
        read_submission(one.solution),
        replace(one, suite=suite),
        Options(1, explain=Explain.NOTHING),
        sandbox,
    )
    assert report.solved, losses(report)
    assert {check.verdict for check in report.checks} == {Verdict.PASS}
    wanted = {name for name in named if name.startswith("test_")}
    assert wanted <= {check.name for check in report.checks}
    assert wanted


def with_examples(exercise: Exercise, texts: list[str], folder: Path) -> Path:
    """A suite of examples, in a folder beside those of the kit."""
    shutil.copytree(exercise.suite.parents[1], folder)
    head = HEAD.format(track=exercise.track, suite=exercise.suite.name)
    path = folder / "examples" / "test_examples.py"
    path.parent.mkdir()
    path.write_text(head + "\n\n".join(texts), encoding="utf-8")
    return path
