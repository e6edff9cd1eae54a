"""One slip costs one check: what it would hide of the others is tried all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.kit import load_kit
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from tests.support.paths import ROOT

KIT = load_kit(ROOT)
PARAMETERS = "test_parameters_are_those_of_the_contract"
UNIFY = "self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)"
QUERIES = ("self.to_queries", "self.query")
SQUARE = "nn.Linear(hidden_dim, hidden_dim"
NO_BIAS = "its layer has no bias"
SLIPS = [
    ("exercise3", ("dropout_rate: float = 0.1", "dropout_rate: float"), "missing 1 required"),
    ("warmup3", (", bias=qkv_bias", ""), "`query.bias`; pass `bias=qkv_bias` on"),
    ("exercise5", (UNIFY, UNIFY.replace(", bias=False", "")), "make the layer `bias=False`"),
    ("exercise1", ("self.q", "self.query"), "registered under another name: `query.weight`"),
    ("exercise5", QUERIES, "registered under another name: `query.weight`"),
    ("warmup4", ("self.W_q", "self.query"), "registered under another name: `query.weight`"),
    ("exercise1", (SQUARE, f"{SQUARE}, bias=False"), f"`q.bias`; {NO_BIAS}"),
    ("exercise3", ("3 * hidden_dim", "3 * hidden_dim, bias=False"), f"`proj.bias`; {NO_BIAS}"),
    ("exercise3", (SQUARE, f"{SQUARE}, bias=False"), f"`output_proj.bias`; {NO_BIAS}"),
    ("exercise4", (f"k = {SQUARE}", f"k = {SQUARE}, bias=False"), f"`k.bias`; {NO_BIAS}"),
    ("exercise6", ("4 * embed_dim),", "4 * embed_dim, bias=False),"), f"`ff.0.bias`; {NO_BIAS}"),
    ("warmup3", ("bias=qkv_bias", "bias=False"), ""),
    ("warmup3", ("self.key", "self.keys"), "registered under another name: `keys.weight`"),
    *((f"decoder{n}", ("bias=False", "bias=True"), "make the layer") for n in (3, 5, 6, 8, 9)),
    *((f"decoder{n}", ("q_proj", "wq"), "registered under another name") for n in (3, 5, 6, 8, 9)),
    ("exercise6", ("self.norm1", "self.norm7"), "another name: `norm7.weight`"),
    ("decoder9", ("self.blocks", "self.layers"), "registered under another name: `layers.0."),
    ("decoder9", ("self.embedding", "self.wte"), "registered under another name: `wte.weight`"),
]


def graded(name: str, sandbox: Sandbox, *edits: tuple[str, str]) -> Report:
    exercise = KIT.find(name)
    text = exercise.solution.read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    options = Options(seed=7, device="cpu", explain=Explain.NOTHING)
    return grade(Submission(Path(f"{name}.py"), text), exercise, options, sandbox)


def lost(report: Report) -> set[str]:
    return {check.name for check in report.checks if check.verdict is not Verdict.PASS}


@pytest.mark.parametrize(("name", "edit", "says"), SLIPS, ids=lambda value: str(value)[:30])
def test_slip_costs_the_check_that_is_about_it(
    name: str, edit: tuple[str, str], says: str, sandbox: Sandbox
) -> None:
    report = graded(name, sandbox, edit)
    told = {check.name: check.message for check in report.checks}
    assert says in told[PARAMETERS]
    assert lost(report)
    assert lost(report) <= {PARAMETERS, "test_qkv_bias_gives_all_three_layers_a_bias"}


def test_key_too_many_costs_the_check_of_the_keys(sandbox: Sandbox) -> None:
    edit = ('"q": q,', '"q": q,\n            "scores": similarities,')
    assert lost(graded("warmup4", sandbox, edit)) == {
        "test_intermediates_are_a_dict_with_seven_keys"
    }


@pytest.mark.parametrize("slip", [(UNIFY, UNIFY.replace(", bias=False", "")), QUERIES])
def test_another_mistake_beside_a_slip_is_seen(slip: tuple[str, str], sandbox: Sandbox) -> None:
    report = graded("exercise5", sandbox, slip, (" / sqrt(D)", ""))
    assert PARAMETERS in lost(report)
    assert "test_output_matches_the_formula" in lost(report)
    assert "test_scores_are_divided_by_the_root_of_the_head_size" in lost(report)


def test_bias_beside_its_layer_is_one_of_another_name(sandbox: Sandbox) -> None:
    made = f"self.output_proj = {SQUARE}"
    beside = "\n        self.added = nn.Parameter(self.output_proj.weight.new_zeros(hidden_dim))"
    edits = [
        (f"{made})", f"{made}, bias=False){beside}"),
        ("self.output_proj(mixed)", "self.output_proj(mixed) + self.added"),
    ]
    assert lost(graded("exercise3", sandbox, *edits)) == {PARAMETERS}


def test_another_mistake_beside_a_missing_bias_is_seen(sandbox: Sandbox) -> None:
    slip = (f"k = {SQUARE}", f"k = {SQUARE}, bias=False")
    report = graded("exercise4", sandbox, slip, (" / sqrt(C)", ""))
    assert lost(report) >= {PARAMETERS, "test_scores_are_divided_by_the_root_of_hidden_dim"}
    assert "test_evaluation_drops_nothing" not in lost(report)


def test_layers_of_other_shapes_are_not_taken_for_others(sandbox: Sandbox) -> None:
    edits = [("self.proj", "self.fused"), ("3 * hidden_dim)", "3 * hidden_dim, bias=False)")]
    report = graded("exercise3", sandbox, *edits)
    told = {check.name: check.message for check in report.checks}
    assert "the module has `fused.weight`" in told[PARAMETERS]
    assert "test_output_matches_the_formula" in lost(report)


@pytest.mark.parametrize("seed", [2713906018, 1077164853, 3])
def test_what_is_asked_of_a_variant_is_asked_before_anything_is_under_way(
    seed: int, sandbox: Sandbox
) -> None:
    """At the first two seeds the variant with biases comes late among the situations."""
    exercise = KIT.find("warmup4")
    options = Options(seed=seed, device="cpu", explain=Explain.NOTHING)
    report = grade(read_submission(exercise.stub), exercise, options, sandbox)
    assert {check.verdict for check in report.checks} == {Verdict.TODO}
