"""Mistakes as edits of a solution explain a submission of any contract."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.diagnosis import edit_search
from grader.diagnosis.edit_search import EditSearch
from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.diagnosis.pairing import SoloEffect
from grader.diagnosis.replay import AskedStep, CheckExchanges, Replay, ReplayUnit, replay_units_of
from grader.errors import GradeError
from grader.grading import Options, grade
from grader.kit import Exercise, Kit, installed_kit
from grader.records import Report
from grader.sandbox.channel import Exchange
from grader.sandbox.process import Sandbox
from grader.sandbox.replies import StepAnswer
from grader.submission import Submission
from grader.wire.messages import Arguments, Backward, Call, Create, Operation, Step
from grader.wire.responses import Called, Done, Gradients
from tests.support.drawing import sampled
from tests.support.paths import CONTRACTS

ENTRIES = {"grouped": "Grouped", "norm": "Norm", "rotary": "rotate"}
NORM = (CONTRACTS / "norm" / "right.py").read_text(encoding="utf-8")
pytestmark = pytest.mark.usefixtures("patient")
IN_ANOTHER_STYLE = """
import torch

class Norm(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(torch.empty(width)) for _ in range(2))
        torch.nn.init.uniform_(self.weight)

    def forward(self, tokens):
        return torch.nn.functional.layer_norm(tokens, tokens.shape[-1:]) + self.bias
"""
OTHER_ERROR = {
    "mask == 0": "mask != 0",
    "raise ValueError(": "embed_dim -= embed_dim % num_heads or (",
}
NAN_LEFT_OPEN = {
    "torch.finfo(scores.dtype).min": "-torch.inf",
    "weights @ v  #": "(weights @ v).sin()  #",
}
OTHER_VALUES = {"randn": "rand", "q = x @": "x = x if x.ndim > 2 else x[None]; q = x @"}
HINDRANCES = "".join(
    f"""
[[wrong]]
name = "{name}"
seen = "here"
loses = "test_output_matches_the_formula"
says = "it is {name}"
hint = "What?"
edits = [['{old}', "{new}"]]
"""
    for name, old, new in (
        ("endless", "        centred", r"        while True:\n            pass\n        centred"),
        ("raising", "centred / ", "centred / 0 / nothing / "),
        ("no Python", "class Norm", "clas Norm"),
    )
)


def exercise_of(name: str, kit: Kit) -> Exercise:
    """An exercise of a contract that knows no pipeline."""
    folder = CONTRACTS / name
    return replace(
        kit.exercises[0],
        name=name,
        entry_points=(ENTRIES[name],),
        solution=folder / "right.py",
        suite=folder / "suite.py",
        mistakes=folder / "wrong.toml",
    )


def known(name: str) -> dict[str, EditMistake]:
    return {mistake.name: mistake for mistake in read_edits(CONTRACTS / name / "wrong.toml")}


def graded(exercise: Exercise, source: str | None, sandbox: Sandbox, seed: int = 1) -> Report:
    assert source is not None
    submission = Submission(Path(f"{exercise.name}.py"), source)
    return grade(submission, exercise, Options(seed=seed, device="cpu"), sandbox)


@sampled("mistakes of other contracts", 6)
@pytest.mark.parametrize(
    ("name", "mistake"),
    [(name, mistake) for name in ENTRIES for mistake in known(name).values()],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_mistake_of_another_contract_is_named(
    name: str, mistake: EditMistake, kit: Kit, sandbox: Sandbox
) -> None:
    exercise = exercise_of(name, kit)
    source = edited(exercise.solution.read_text(encoding="utf-8"), [mistake])
    report = graded(exercise, source, sandbox)
    if not any(check.verdict == "fail" for check in report.checks):
        assert report.diagnosis == ()  # what raises an exception is explained by that
        return
    assert (mistake.name,) in report.diagnosis
    assert report.cause is not None
    assert mistake.says in report.cause.says
    assert report.cause.follows


def test_sentence_and_hint_are_told_with_what_follows(kit: Kit, sandbox: Sandbox) -> None:
    mistake = known("norm")["unbiased-variance"]
    report = graded(exercise_of("norm", kit), edited(NORM, [mistake]), sandbox)
    assert report.cause is not None
    assert "test_output_matches_the_formula" in report.cause.follows
    assert report.cause.says == (
        "Where your output is wrong, it is exactly what comes out when the sum of squares is "
        "divided by one less than the number of features."
    )
    assert report.cause.advice == mistake.hint


@pytest.mark.slow("gradings of exercises of ours, and a search in each")
@pytest.mark.parametrize(
    ("name", "mistake", "says"),
    [
        ("exercise3", "hidden scores filled with -1e4", "Where your output is wrong, it is"),
        (
            "decoder1",
            "assert instead of an error",
            "Your output is right; only exceptions are wrong",
        ),
        ("decoder2", "mask turned around in place", "Your output is right, and what else is wrong"),
    ],
)
def test_sentence_says_what_is_wrong_and_names_one_alone(
    name: str, mistake: str, says: str, sandbox: Sandbox
) -> None:
    """A fill of -100 gives the same where -1e4 is wrong, and something else beside."""
    exercise = installed_kit().find(name)
    (edit,) = [one for one in read_edits(exercise.mistakes) if one.name == mistake]
    # At this seed some scores lie between the two fills; at one of two, nothing tells them apart.
    source = edited(exercise.solution.read_text("utf-8"), [edit])
    report = graded(exercise, source, sandbox, seed=3)
    assert report.diagnosis == ((mistake,),)
    assert report.cause is not None
    assert report.cause.says == f"{report.cause.says.partition(' when ')[0]} when {edit.says}."
    assert report.cause.says.startswith(says)


@pytest.mark.slow("gradings of exercises of ours, and a search in each")
@pytest.mark.parametrize(
    ("name", "edits", "named"),
    [
        ("decoder2", OTHER_ERROR, (("mask upside down",),)),
        ("exercise4", NAN_LEFT_OPEN, ()),
        ("warmup2", OTHER_VALUES, (("batch of one kept",),)),
    ],
)
def test_what_differs_beside_a_mistake_does_not_hide_it_and_is_none(
    name: str, edits: dict[str, str], named: tuple[tuple[str, ...], ...], sandbox: Sandbox
) -> None:
    exercise = installed_kit().find(name)
    source = exercise.solution.read_text("utf-8")
    for old, new in edits.items():
        source = source.replace(old, new)
    report = graded(exercise, source, sandbox)
    assert report.diagnosis == named
    assert "NaN" not in (report.cause.says if report.cause else "")


def test_answer_in_another_style_is_named_by_what_it_computes(kit: Kit, sandbox: Sandbox) -> None:
    report = graded(exercise_of("norm", kit), IN_ANOTHER_STYLE, sandbox)
    assert report.diagnosis == (("without-gain",),)


def test_two_mistakes_are_named_as_a_pair(kit: Kit, sandbox: Sandbox) -> None:
    both = [known("norm")[name] for name in ("unbiased-variance", "without-gain")]
    report = graded(exercise_of("norm", kit), edited(NORM, both), sandbox)
    assert report.diagnosis == (("unbiased-variance", "without-gain"),)
    assert report.cause is not None
    text = report.cause.says
    assert "with two mistakes: (1) the sum of squares" in text


@pytest.mark.parametrize(
    ("one", "other", "fine", "may"),
    [
        # Whether each of two shows, and agrees; whether what came is right.
        ((True, True), (False, False), False, True),  # what shows alone is what came
        ((True, False), (False, False), False, False),
        ((False, False), (False, False), False, False),  # nothing shows where something is wrong
        ((True, False), (True, False), False, True),  # together they may come to anything
        ((True, False), (False, True), True, False),  # one is wrong where what came is right
        ((False, True), (False, True), True, True),
    ],
)
def test_pair_is_tried_where_it_may_have_made_what_came(
    one: tuple[bool, bool], other: tuple[bool, bool], fine: bool, may: bool
) -> None:
    here, there = (SoloEffect(*((of,) for of in each)) for each in (one, other))
    assert here.may_go_with(there, (fine,)) is there.may_go_with(here, (fine,)) is may


def test_what_only_gradients_show_is_said_so(kit: Kit, sandbox: Sandbox) -> None:
    source = edited(NORM, [known("norm")["statistics-detached"]])
    report = graded(exercise_of("norm", kit), source, sandbox)
    assert report.cause is not None
    text = report.cause.says
    assert text.startswith("Your output is right, but your gradients are exactly those")


@pytest.mark.parametrize(
    "body", ["x * 1.1", "x.sin()", "torch.randn_like(x)", "x[:1]", "None", "x / 0"]
)
def test_what_is_not_known_is_not_named(body: str, kit: Kit, sandbox: Sandbox) -> None:
    head, _, _ = NORM.partition("        centred")
    report = graded(exercise_of("norm", kit), f"{head}        return {body}\n", sandbox)
    assert not report.solved
    assert report.diagnosis == ()


def test_mistake_that_hangs_or_raises_reproduces_nothing(
    kit: Kit, sandbox: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.toml"
    text = (CONTRACTS / "norm" / "wrong.toml").read_text(encoding="utf-8")
    path.write_text(HINDRANCES + text, encoding="utf-8")
    exercise = replace(exercise_of("norm", kit), mistakes=path)
    source = edited(NORM, [known("norm")["without-gain"]])
    assert graded(exercise, source, sandbox).diagnosis == (("without-gain",),)


def test_kit_without_solution_or_mistakes_is_graded_all_the_same(
    kit: Kit, sandbox: Sandbox, tmp_path: Path
) -> None:
    source = edited(NORM, [known("norm")["without-gain"]])
    exercise = exercise_of("norm", kit)
    for lacking in ("solution", "mistakes"):
        without = replace(exercise, **{lacking: tmp_path / "none"})
        assert graded(without, source, sandbox).diagnosis == ()


def test_nothing_of_a_solution_stays_in_this_process(kit: Kit, sandbox: Sandbox) -> None:
    exercise = exercise_of("norm", kit)
    before = torch.get_rng_state(), random.getstate(), sys.gettrace(), set(sys.modules)
    graded(exercise, edited(NORM, [known("norm")["without-gain"]]), sandbox)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (random.getstate(), sys.gettrace()) == before[1:3]
    assert "submission" not in set(sys.modules) - before[3]


def test_answer_of_a_hostile_form_is_another_one() -> None:
    source = "def give():\n    return 1"
    step = Step(Call("give", [Arguments({"tuple": []}, {"dict": {}})], results_handle=1))
    back = Step(Backward(1, []))
    called = StepAnswer(Called(results=[1], grads=[], changed=[]), [])
    for tree in ({"tensor": 7}, {"what": 1}, [1], 3, {"list": [{"list": [{"tensor": "x"}]}]}):
        hostile = StepAnswer(Gradients(result=tree), [])
        unit = ReplayUnit(
            [[AskedStep(step, b"", called), AskedStep(back, b"", hostile)]], passed=False
        )
        replay = Replay.of(source)
        assert replay is not None
        assert list(replay.differences(unit)) == ["output"]


def test_group_that_uses_what_another_made_is_no_unit_of_its_own() -> None:
    made = [Create(n, "Layer", {"tuple": []}, {"dict": {}}) for n in (1, 2)]
    calls = [Call(n, [], results_handle=10 + n) for n in (1, 2)]

    def units(*groups: list[Operation]) -> list[list[int]]:
        steps = [Step(one, [], 0) for group in groups for one in group]
        answers = [StepAnswer(Done(), [])] * len(steps)
        exchange = Exchange(steps, [b""] * len(steps), [len(one) for one in groups], answers)
        return [
            list(map(len, one.groups))
            for one in replay_units_of([CheckExchanges([exchange], False)])
        ]

    assert units([made[0], calls[0]], [made[1], calls[1]]) == [[2], [2]]
    assert units([*made], [calls[0]], [calls[1]]) == [[2, 1, 1]]


def search_among(lost: set[str], *edits: tuple[str, str, str]) -> tuple[str, ...]:
    """Names of the mistakes that explain why `give` gives 2 and not 1.

    Args:
        lost: Checks that the submission lost.
        edits: Of each known mistake, its name, the check that it loses, and what it gives.
    """
    step = Step(Call("give", [Arguments({"tuple": []}, {"dict": {}})], results_handle=1))
    asked = AskedStep(step, b"", StepAnswer(Called(results=[2], grads=[], changed=[]), []))
    known = [
        EditMistake(name=n, says=n, hint="?", seen="here", loses=loses, edits=(("1", gives),))
        for n, loses, gives in edits
    ]
    search = EditSearch("def give():\n    return 1", [ReplayUnit([[asked]], False)], "cpu", lost)
    found = search.run(known).sets or search.run(known, in_pairs=True).sets
    return tuple(one.name for (one,) in found)


def test_mistake_that_loses_a_lost_check_is_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit_search, "MAX_TRIED_SETS", 1)
    edits = ("one", "test_one", "2"), ("other", "test_other", "2")
    assert search_among({"test_one"}, *edits) == ("one",)
    assert search_among({"test_other"}, *edits) == ("other",)


def test_pairs_are_looked_for_only_where_no_mistake_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit_search, "likely_pairs", None)  # it takes longer than all else
    assert search_among(set(), ("one", "test_one", "2"), ("other", "test_other", "3")) == ("one",)


def test_mistake_whose_check_was_passed_is_named_only_if_no_other_is() -> None:
    edits = ("one", "test_one", "2"), ("other", "test_other", "1 + 1"), ("third", "test_third", "3")
    assert search_among({"test_other", "test_third"}, *edits) == ("other",)
    assert search_among({"test_third"}, *edits) == ("one", "other")
    assert search_among(set(), *edits) == ("one", "other")


def test_of_two_mistakes_one_at_least_lost_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[str]] = []

    def fitting(self: EditSearch, sets: Iterable[Sequence[EditMistake]], _: object) -> Any:
        tried.append(["".join(one.name for one in mistakes) for mistakes in sets])
        return [], False

    monkeypatch.setattr(edit_search, "likely_pairs", lambda _, known, *u: combinations(known, 2))
    monkeypatch.setattr(EditSearch, "_fitting", fitting)
    assert search_among({"a", "c"}, *((name, name, "3") for name in "abcd")) == ()
    assert [tried[0], tried[2]] == [["a", "c", "b", "d"], ["ac", "ab", "ad", "cb", "cd"]]
    assert search_among({"a"}, ("a", "a", "3"), ("b", "b", "3")) == ()
    assert not tried[6]  # where a single check is lost


def test_endless_source_ends() -> None:
    assert Replay.of("while True: pass") is None
    assert Replay.of("sum(1 for _ in iter(int, 1))") is None
    assert EditSearch("raise KeyError", []).run([]).sets == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[wrong]]\nname = 3\n", "is damaged: Expected `str`, got `int`"),
        ("[[wrong]]\nname = 'a'\ncolour = 'red'\n", "is damaged"),
        ("[[wrong]\n", "is damaged"),
        (
            "[[wrong]]\nname = 'a'\nseen = ''\nloses = 'b'\nsays = 'c'\nedits = []\n",
            "`a` needs both `says` and `hint`, or neither",
        ),
    ],
)
def test_damaged_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GradeError, match=message) as raised:
        read_edits(path)
    assert "\n" not in str(raised.value)
