"""What a check plans happens in one request, in its order, and is told as if it came singly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.sandbox.answers import read_gradients, read_several
from grader.sandbox.faults import SubmissionError, SubmissionRefused
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.wire.frames import BadFrame
from grader.sandbox.workers import WorkerEnded
from grader.suite.compare import CheckFailed, expect_close
from grader.suite.draw import Draw
from grader.suite.oracle import linear
from grader.suite.subject import Sizes, Subject
from grader.suite.trial import Trial

Begin = Callable[[str], RemoteSubmission]
SOURCE = """
import torch
from torch import nn

made = []


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        if width == 11:
            raise ValueError("no eleven")
        self.lin = nn.Linear(width, width)
        self.again = self.lin
        self.calls = 0
        made.append(width)
        print("made", width)

    def forward(self, x, attention_mask=None):
        print("called", self.lin.in_features, self.training)
        self.calls += 1
        if x.size(-2) == 13:
            raise RuntimeError("no thirteen")
        if x.size(-2) == 17:
            import os
            os._exit(3)
        if attention_mask is not None:
            x += attention_mask
        return self.lin(x)

    def count(self, x):
        return self.calls, len(made)

    def surrogate(self, x):
        return "\\ud800"

    def noise(self, x):
        return torch.rand(3), self.lin(x).detach()


class Folding(Layer):
    def train(self, mode=True):
        if not mode:
            self.folded = self.lin.weight.detach().clone()
        return super().train(mode)

    def forward(self, x):
        return x @ self.folded.T + self.lin.bias


def twice(x):
    return 2 * x
"""
LAYER = Subject(
    name="Layer",
    sizes=(Sizes(2, 3, 5), Sizes(3, 2, 7)),
    arguments=lambda sizes: {"width": sizes.C},
    parameters=lambda sizes: {"lin.weight": (sizes.C, sizes.C), "lin.bias": (sizes.C,)},
    oracle=lambda weights, x, mask, sizes: linear(weights, "lin", x),
)
TWICE = Subject(name="twice", sizes=(Sizes(2, 3, 5),), oracle=lambda weights, x, mask, sizes: 2 * x)


@pytest.fixture
def submission(begin: Begin) -> RemoteSubmission:
    return begin(SOURCE)


@pytest.fixture
def trial(submission: RemoteSubmission) -> Trial:
    return Trial(LAYER, submission, Draw(1), "cpu", {})


def test_all_that_is_planned_goes_in_one_request(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    honest = trial.submission.several

    def several(requests: Any) -> Any:
        asked.append(len(requests))
        return honest(requests)

    monkeypatch.setattr(trial.submission, "several", several)
    first, second = trial.module(), trial.module(LAYER.sizes[1])
    calls = [second.call(trial.input(LAYER.sizes[1])), first.call(trial.input())]
    for call in calls:
        expect_close(call.out, call.expected)
    assert asked == [4]
    said = trial.submission.take_output().split("\n")
    assert said == ["made 5", "made 7", "called 7 False", "called 5 False", ""]


def test_a_step_that_fails_ends_those_after_it_and_none_before(trial: Trial) -> None:
    module = trial.module()
    before = module.call(trial.input())
    wrong = module.call(trial.input(Sizes(2, 13, 5)))
    after = module.call(trial.input())
    expect_close(before.out, before.expected)
    for call in (wrong, after):
        with pytest.raises(SubmissionError, match="no thirteen"):
            _ = call.out
    assert trial.submission.take_output().count("called") == 2
    again = module.call(trial.input())
    expect_close(again.out, again.expected)


def test_constructor_that_raises_is_told_by_its_calls(trial: Trial) -> None:
    fine = trial.module().call(trial.input())
    refused = trial.module(Sizes(2, 3, 11)).call(trial.input(Sizes(2, 3, 11)))
    assert fine.out.shape == (2, 3, 5)
    with pytest.raises(SubmissionError, match="no eleven"):
        _ = refused.out


def test_crash_in_the_middle_ends_all(trial: Trial) -> None:
    call = trial.module().call(trial.input())
    trial.module().call(trial.input(Sizes(2, 17, 5)))
    with pytest.raises(WorkerEnded, match="exit status 3"):
        _ = call.out


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"lin.wait": torch.zeros(5, 5)}, "expected a parameter `lin.wait`; there is `lin.weight`"),
        ({"lin.bias": torch.zeros(7)}, r"`lin.bias` of shape \(7,\), got \(5,\)"),
    ],
)
def test_weights_that_do_not_fit_fail_the_check(
    trial: Trial, weights: dict[str, torch.Tensor], message: str
) -> None:
    call = trial.module(weights=weights).call(trial.input())
    with pytest.raises(CheckFailed, match=message):
        _ = call.out


def test_weights_modes_and_dtypes_hold_from_then_on(trial: Trial) -> None:
    module, x = trial.module(), trial.input()
    first = module.call(x)
    second = module.set(trial.weights(trial.sizes)).train().call(x)
    third = module.train(False).to(torch.float64).call(x.double())
    for call in (first, second, third):
        expect_close(call.out, call.expected)
    assert not torch.equal(first.out, second.out)
    assert third.out.dtype == torch.float64
    said = trial.submission.take_output().split("\n")
    assert said[1:-1] == ["called 5 False", "called 5 True", "called 5 False"]


def test_module_is_as_its_constructor_made_it_where_no_weights_are_given(trial: Trial) -> None:
    x = trial.input()
    outs = [trial.module(weights={}).call(x).out for _ in range(2)]
    assert not torch.equal(*outs)


def test_gradients_are_those_of_the_oracle(trial: Trial) -> None:
    call = trial.module().call(trial.input(), weigh=trial.draw.normal(2, 3, 5))
    right = call.right_gradients
    assert set(right) == set(call.gradients) == {"x", "lin.weight", "lin.bias"}
    for name, grad in call.gradients.items():
        assert grad is not None
        expect_close(grad, right[name])


def test_what_a_call_changes_is_told_of_that_call(trial: Trial) -> None:
    module, x = trial.module(), trial.input()
    before, mask = x.clone(), torch.ones(5)
    plain, masked = module.call(x, watch=True), module.call(x, mask, watch=True)
    assert (plain.changed, masked.changed) == ([], ["x"])
    assert torch.equal(x, before)


def test_methods_seeds_and_functions(trial: Trial) -> None:
    module, x = trial.module(), trial.input()
    noises = [module.calls([x], method="noise", seed=5)[0] for _ in range(2)]
    (count,) = module.calls([x], method="count")
    assert torch.equal(noises[0].result[0], noises[1].result[0])
    assert count.result == (0, 1)
    function = trial.of(TWICE).module()
    call = function.train().to(torch.float64).call(trial.input())
    expect_close(call.out, call.expected)
    weighed = function.call(trial.input(), weigh=trial.draw.normal(2, 3, 5))
    expect_close(weighed.gradients["x"], weighed.right_gradients["x"])  # type: ignore[arg-type]


def test_worker_lets_go_of_what_no_check_holds(trial: Trial) -> None:
    for _ in range(3):
        assert trial.module().call(trial.input(), weigh=trial.draw.normal(2, 3, 5)).gradients
    assert sorted(trial.submission._drop) == sorted(set(trial.submission._drop))
    assert len(trial.submission._drop) == 2  # the last module and its graph; the rest is gone


HOSTILE = """
import sys

Worker = sys.modules["grader.sandbox.inside.worker"].Worker
frames = sys.modules["grader.sandbox.wire.frames"]
honest = Worker.do_call, Worker.do_create, Worker._carry_out_all


def do_call(self, **request):
    return honest[0](self, **request) | CALL


def do_create(self, **request):
    return honest[1](self, **request) | CREATE


def deep(self, requests, body):
    inner = "x"
    for _ in range(DEPTH):
        inner = {"a": inner}
    return {"refused": inner}, b""


Worker.do_call, Worker.do_create = do_call, do_create
if DEPTH:
    Worker._carry_out_all = deep
"""


def hostile(begin: Begin, call: str = "{}", create: str = "{}", depth: int = 0) -> Trial:
    source = f"CALL, CREATE, DEPTH = {call}, {create}, {depth}\n{HOSTILE}{SOURCE}"
    return Trial(LAYER, begin(source), Draw(1), "cpu", {})


@pytest.mark.parametrize(
    "call",
    [
        "{'changed': [7]}", "{'changed': [-1]}", "{'changed': 'x'}", "{'changed': [1]}",
        "{'grad': [True, True]}", "{'grad': 3}", "{'results': []}", "{'results': [[]]}",
        "{'results': [{'tensor': 3}]}",
    ],
)  # fmt: skip
def test_results_of_another_form_end_the_worker(begin: Begin, call: str) -> None:
    trial = hostile(begin, call)
    planned = trial.module().call(trial.input(), watch=True, weigh=trial.draw.normal(2, 3, 5))
    with pytest.raises(WorkerEnded, match="cannot be read"):
        _ = planned.changed, planned.gradients


@pytest.mark.parametrize(
    "create",
    [
        "{'parameters': 3}", "{'parameters': [{}]}",
        "{'parameters': [{'name': 'x', 'shape': 'y', 'same_as': 'x'}]}",
    ],
)  # fmt: skip
def test_parameters_of_another_form_end_the_worker(begin: Begin, create: str) -> None:
    trial = hostile(begin, create=create)
    with pytest.raises(WorkerEnded, match="cannot be read"):
        _ = trial.module().call(trial.input()).out


@pytest.mark.parametrize("depth", [100, 900, 960, 980, 990, 1000, 2000])
def test_nested_answers_are_refused_at_any_depth(begin: Begin, depth: int) -> None:
    trial = hostile(begin, depth=depth)
    planned = trial.module().call(trial.input())
    for _ in range(2):  # whoever looks again is told the same
        with pytest.raises((WorkerEnded, SubmissionRefused, SubmissionError)):
            _ = planned.out


def test_deeply_nested_refusals_never_break_a_check() -> None:
    """Just where an answer can still be read and no longer be told, whatever the stack is."""
    inner: Any = "x"
    outcomes = set()
    for depth in range(1, 1100):
        inner = {"a": inner}
        if depth < 850:
            continue
        told = RemoteSubmission.__new__(RemoteSubmission)
        told._worker = Mute({"refused": inner})  # type: ignore[assignment]  # looks like one
        told._deadline = 0.0
        try:
            told._receive(lambda header, body: read_several(header, body, 2))
        except Exception as error:
            outcomes.add(type(error))
    assert outcomes <= {SubmissionRefused, WorkerEnded}
    assert outcomes


class Mute:
    """A worker that gave this answer."""

    def __init__(self, header: dict[str, Any]) -> None:
        self._header = header

    def receive(self, deadline: float) -> tuple[dict[str, Any], bytes]:
        return self._header, b""

    def distrust(self, problem: str) -> WorkerEnded:
        return WorkerEnded(problem)


def test_what_cannot_be_told_is_an_error_of_its_own(trial: Trial) -> None:
    before = trial.module().call(trial.input())
    (odd,) = trial.module().calls([trial.input()], method="surrogate")
    expect_close(before.out, before.expected)
    with pytest.raises(SubmissionError, match="surrogates not allowed"):
        _ = odd.result


def test_weights_are_there_when_a_module_is_told_its_mode(submission: RemoteSubmission) -> None:
    folding = Trial(replace(LAYER, name="Folding"), submission, Draw(1), "cpu", {})
    call = folding.module().call(folding.input())
    expect_close(call.out, call.expected)


def test_one_parameter_under_two_names_is_told(submission: RemoteSubmission) -> None:
    shapes = {"lin.weight": (5, 5), "again.weight": (5, 5)}
    tied = Trial(replace(LAYER, parameters=lambda sizes: shapes), submission, Draw(1), "cpu", {})
    with pytest.raises(CheckFailed, match="is the same parameter as `lin"):
        _ = tied.module().call(tied.input()).out


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_gradients_that_are_no_floats_are_not_believed(dtype: torch.dtype) -> None:
    answer = {"result": {"list": [{"tensor": 0}]}}, [torch.ones(3).to(dtype)]
    with pytest.raises(ValueError, match="form of its input"):
        read_gradients(answer, [(torch.Size([3]), torch.device("cpu"))])


def part(**changes: Any) -> dict[str, Any]:
    return {"results": [1], "grad": [], "changed": [], "tensors": [], "size": 0} | changes


@pytest.mark.parametrize(
    "answers",
    [
        None, 3, {}, [], [part()], [3, part()], [part(), {}], [part(size=8), part()],
        [part(size=-1), part()], [part(size="x"), part()], [part(tensors=3), part()],
        [part(fault=3), part()], [part(), {"fault": {}, "size": 0}], [part(size=1e30), part()],
    ],
    ids=str,
)  # fmt: skip
def test_answers_of_another_form_are_not_believed(answers: Any) -> None:
    header = {} if answers is None else {"several": answers}
    with pytest.raises(BadFrame):
        read_several(header, b"", 2)


def test_refusal_of_the_whole_is_told() -> None:
    with pytest.raises(SubmissionRefused, match="is larger than"):
        read_several({"refused": "is larger than 256 MiB in all"}, b"", 2)


def test_more_answers_than_requests_are_not_looked_at() -> None:
    assert len(read_several({"several": [part(), part(), part(tensors="?")]}, b"", 2)) == 2
