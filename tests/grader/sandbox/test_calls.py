"""What a check plans happens in one request, in its order, and is told as if it came singly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.sandbox.batch import RequestBatch
from grader.sandbox.channel import Channel
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.face import DifferentiableProxy
from grader.sandbox.pending import NotYetSent
from grader.sandbox.replies import StepAnswer, read_gradients, read_parameters, read_reply
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerEnded
from grader.suite.compare import CheckFailed, expect_close
from grader.suite.contract import Contract, Input
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.oracle import linear
from grader.suite.sizes import Sizes
from grader.wire import messages, responses
from grader.wire.frames import BadFrame

Begin = Callable[[str], Session]
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

def much(x):
    return x.expand(100_000)

class Counter:
    @staticmethod
    def step(x, state=None):
        state = torch.zeros_like(x) if state is None else state
        return 2 * x + state, x + state
"""
LAYER = Contract(
    entry="Layer",
    sizes=(Sizes(B=2, T=3, C=5), Sizes(B=3, T=2, C=7)),
    inputs={"x": Input("B T C"), "attention_mask": Input("C", optional=True, differentiable=False)},
    arguments=lambda sizes: {"width": sizes.C},
    parameters=lambda sizes: {"lin.weight": (sizes.C, sizes.C), "lin.bias": (sizes.C,)},
    oracle=lambda weights, sizes, x: linear(weights, "lin", x),
)
TWICE = Contract(
    entry="twice", sizes=(Sizes(B=2, T=3, C=5),), oracle=lambda weights, sizes, x: 2 * x
)
STEPS = Contract(
    entry="Counter.step",
    sizes=(Sizes(B=2, C=5),),
    inputs={"x": Input("B C"), "state": Input("B C", optional=True)},
    outputs={"output": "B C", "state": None},
    oracle=lambda weights, sizes, x, state=0: {"output": 2 * x + state, "state": x + state},
)


@pytest.fixture
def session(begin: Begin) -> Session:
    return begin(SOURCE)


@pytest.fixture
def harness(session: Session) -> Harness:
    return Harness(LAYER, session, Draw(1), {})


def test_all_that_is_planned_goes_in_one_request(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    honest = Channel.exchange

    def exchange(self: Channel, steps: Any, *how: Any) -> Any:
        asked.append(len(steps))
        return honest(self, steps, *how)

    monkeypatch.setattr(Channel, "exchange", exchange)
    first, second = harness.module(), harness.module(LAYER.sizes[1])
    calls = [second.call(harness.inputs(LAYER.sizes[1])), first.call(harness.inputs())]
    harness.ask()
    harness.ask()  # nothing is left
    for call in calls:
        expect_close(call.out, call.expected)
    assert asked == [4]
    said = harness.session.take_output().split("\n")
    assert said == ["made 5", "made 7", "called 7 False", "called 5 False", ""]


def test_looking_before_asking_asks_nothing(harness: Harness) -> None:
    call = harness.module().call(harness.inputs())
    with pytest.raises(NotYetSent):
        _ = call.out
    assert harness.session.take_output() == ""


def test_nothing_is_asked_while_a_request_is_under_way(harness: Harness) -> None:
    """The answer to the one would be taken for the answer to the other."""
    module = harness.module()
    module.call(harness.inputs())
    with pytest.raises(RuntimeError, match="under way"):
        harness.ask(lambda: harness.session.batch().channel.exchange([]))


def test_a_step_that_fails_ends_those_after_it_and_none_before(harness: Harness) -> None:
    module = harness.module()
    before = module.call(harness.inputs())
    wrong = module.call(harness.inputs(Sizes(B=2, T=13, C=5)))
    after = module.call(harness.inputs())
    harness.ask()
    expect_close(before.out, before.expected)
    for call in (wrong, after):
        with pytest.raises(SubmissionError, match="no thirteen"):
            _ = call.out
    assert harness.session.take_output().count("called") == 2
    again = module.call(harness.inputs())
    harness.ask()
    expect_close(again.out, again.expected)


def test_constructor_that_raises_is_told_by_its_calls(harness: Harness) -> None:
    fine = harness.module().call(harness.inputs())
    wide = Sizes(B=2, T=3, C=11)
    refused = harness.module(wide).call(harness.inputs(wide))
    harness.ask()
    assert fine.out.shape == (2, 3, 5)
    with pytest.raises(SubmissionError, match="no eleven"):
        _ = refused.out


def test_crash_in_the_middle_ends_all(harness: Harness) -> None:
    call = harness.module().call(harness.inputs())
    harness.module().call(harness.inputs(Sizes(B=2, T=17, C=5)))
    with pytest.raises(WorkerEnded, match="exit status 3"):
        harness.ask()
    with pytest.raises(WorkerEnded, match="exit status 3"):
        _ = call.out


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"lin.wait": torch.zeros(5, 5)}, "`lin.wait`; the module has `lin.weight`"),
        ({"lin.bias": torch.zeros(7)}, r"`lin.bias` of shape \(7,\), got \(5,\)"),
    ],
)
def test_weights_that_do_not_fit_fail_the_check(
    harness: Harness, weights: dict[str, torch.Tensor], message: str
) -> None:
    call = harness.module(weights=weights).call(harness.inputs())
    harness.ask()
    with pytest.raises(CheckFailed, match=message):
        _ = call.out


def test_weights_modes_and_dtypes_hold_from_then_on(harness: Harness) -> None:
    module, inputs = harness.module(), harness.inputs()
    first = module.call(inputs)
    second = module.set(harness.weights(harness.sizes)).train().call(inputs)
    third = module.train(False).to(torch.float64).call({"x": inputs["x"].double()})
    harness.ask()
    for call in (first, second, third):
        expect_close(call.out, call.expected)
    assert not torch.equal(first.out, second.out)
    assert third.out.dtype == torch.float64
    said = harness.session.take_output().split("\n")
    assert said[1:-1] == ["called 5 False", "called 5 True", "called 5 False"]


def test_module_is_as_its_constructor_made_it_where_no_weights_are_given(harness: Harness) -> None:
    inputs = harness.inputs()
    calls = [harness.module(weights={}, with_values=True).call(inputs) for _ in range(2)]
    harness.ask()
    assert not torch.equal(*(call.out for call in calls))
    for call in calls:
        weights = call.module.first_weights
        torch.testing.assert_close(call.out, linear(weights, "lin", inputs["x"]))


def test_gradients_are_those_of_the_oracle(harness: Harness) -> None:
    grad_output = harness.draw.normal(2, 3, 5)
    call = harness.module().call(harness.inputs(), grad_output=grad_output)
    harness.ask()
    right = call.right_gradients
    assert set(right) == set(call.gradients) == {"x", "lin.weight", "lin.bias"}
    for name, grad in call.gradients.items():
        assert grad is not None
        expect_close(grad, right[name])


def test_face_is_differentiable_by_inputs_and_weights(harness: Harness) -> None:
    weights = {name: value.double() for name, value in harness.weights(harness.sizes).items()}
    face = harness.face(weights=list(weights), dtype=torch.float64)
    leaves = [harness.input("x").double(), *weights.values()]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    assert torch.autograd.gradcheck(face, leaves, fast_mode=True)
    torch.testing.assert_close(face(*leaves), linear(weights, "lin", leaves[0]))


def test_what_a_call_changes_is_told_of_that_call(harness: Harness) -> None:
    module, x = harness.module(), harness.input("x")
    before, mask = x.clone(), torch.ones(5)
    plain = module.call({"x": x}, detect_inplace=True)
    masked = module.call({"x": x, "attention_mask": mask}, detect_inplace=True)
    harness.ask()
    assert (plain.changed, masked.changed) == ([], ["x"])
    assert torch.equal(x, before)


def test_input_changed_as_the_answer_is_read_is_told_whatever_the_layout_says(begin: Begin) -> None:
    source = """
import torch

class Out(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__self__", None) is torch._C.TensorBase.layout:
            return torch.sparse_coo
        return super().__torch_function__(func, types, args, kwargs or {})

    def detach(self):
        torch.Tensor.zero_(self.source)
        return torch.Tensor.detach(self)

def twice(x):
    out = (2 * x).as_subclass(Out)
    out.source = x
    return out
"""
    harness = Harness(TWICE, begin(source), Draw(1), {})
    call = harness.module().call(harness.inputs(), detect_inplace=True)
    harness.ask()
    assert call.changed == ["x"]


def test_parameter_has_the_shape_that_it_has_not_what_its_class_says(begin: Begin) -> None:
    source = """
import torch
from torch import nn

class Flat(nn.Parameter):
    shape = torch.Size([5, 5])

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.lin.weight = Flat(torch.ones(width * width))
"""
    harness = Harness(LAYER, begin(source), Draw(1), {})
    module = harness.module()
    harness.ask()
    with pytest.raises(CheckFailed, match=r"`lin.weight` of shape \(5, 5\), got \(25,\)"):
        module.expect_fit()


def test_methods_seeds_and_functions(harness: Harness) -> None:
    module, inputs = harness.module(), harness.inputs()
    noises = [module.call(inputs, method="noise", seed=5) for _ in range(2)]
    count = module.call(inputs, method="count")
    function = harness.of(TWICE).module()
    call = function.train().to(torch.float64).call(inputs)
    grad_output = harness.draw.normal(2, 3, 5)
    with_gradients = function.call(harness.inputs(), grad_output=grad_output)
    harness.ask()
    assert torch.equal(noises[0].result[0], noises[1].result[0])
    assert count.result == (0, 1)
    expect_close(call.out, call.expected)
    found, right = with_gradients.gradients["x"], with_gradients.right_gradients["x"]
    expect_close(found, right)  # type: ignore[arg-type]  # is there


def test_state_is_handed_on_from_call_to_call_in_one_request(harness: Harness) -> None:
    steps = harness.of(STEPS)
    module = steps.module()
    calls = [module.call(steps.inputs())]
    for _ in range(4):
        calls.append(module.call({**steps.inputs(), "state": calls[-1].handle("state")}))
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected)
    total = sum(call.tensors["x"] for call in calls)
    torch.testing.assert_close(calls[-1].result[1], total)


def test_worker_lets_go_of_what_no_check_holds(harness: Harness) -> None:
    channel = harness.session.channel
    for _ in range(3):
        grad_output = harness.draw.normal(2, 3, 5)
        call = harness.module().call(harness.inputs(), grad_output=grad_output)
        harness.ask()
        assert call.gradients
        del call
    assert sorted(channel._released) == sorted(set(channel._released))
    assert len(channel._released) == 2  # the last module and its graph; the rest is gone


HOSTILE = """
import sys

import msgspec

handler = sys.modules["grader.worker.handler"]
honest = handler.RequestHandler._answer_step

def answer_step(self, step, data):
    packed, sent, failed = honest(self, step, data)
    answer = msgspec.json.decode(packed)
    forged = {"call": CALL, "create": CREATE}.get(step.operation.__struct_config__.tag, {})
    if DEPTH and "results" in answer:
        forged = {"results": [msgspec.Raw(b'{"list":[' * DEPTH + b"]}" * DEPTH)]}
    return msgspec.Raw(msgspec.json.encode(answer | forged)), sent, failed

handler.RequestHandler._answer_step = answer_step
"""


def hostile(begin: Begin, call: str = "{}", create: str = "{}", depth: int = 0) -> Harness:
    source = f"CALL, CREATE, DEPTH = {call}, {create}, {depth}\n{HOSTILE}{SOURCE}"
    return Harness(LAYER, begin(source), Draw(1), {})


@pytest.mark.parametrize(
    "call",
    [
        "{'changed': [7]}", "{'changed': [-1]}", "{'changed': 'x'}", "{'changed': [1]}",
        "{'grads': [True, True]}", "{'grads': 3}", "{'results': []}", "{'results': [[]]}",
        "{'results': [{'tensor': 3}]}", "{'results': [{'output': [1, 0]}]}", "{'size': 8}",
        "{'is': 'done'}", "{'is': 'created', 'parameters': []}", "{'is': 'unknown'}",
    ],
)  # fmt: skip
def test_results_of_another_form_end_the_worker(begin: Begin, call: str) -> None:
    harness = hostile(begin, call)
    grad_output = harness.draw.normal(2, 3, 5)
    module = harness.module()
    planned = module.call(harness.inputs(), detect_inplace=True, grad_output=grad_output)
    with pytest.raises(WorkerEnded, match="cannot be read"):
        harness.ask(), planned.changed, planned.gradients


@pytest.mark.parametrize(
    "create",
    [
        "{'parameters': 3}", "{'parameters': [{}]}",
        "{'parameters': [{'name': 'x', 'shape': 'y', 'value': None, 'same_as': 'x', "
        "'requires_grad': True}]}",
        "{'parameters': [{'name': 'x' * 501, 'shape': [], 'value': None, 'same_as': 'x', "
        "'requires_grad': True}]}",
        "{'parameters': [{'name': 'x', 'shape': [2], 'value': 3, 'same_as': 'x', "
        "'requires_grad': True}]}",
    ],
)  # fmt: skip
def test_parameters_of_another_form_end_the_worker(begin: Begin, create: str) -> None:
    harness = hostile(begin, create=create)
    call = harness.module().call(harness.inputs())
    with pytest.raises(WorkerEnded, match="cannot be read"):
        harness.ask(), call.out


def test_one_tensor_is_the_value_of_one_parameter(session: Session) -> None:
    """A body of 64 MiB under 60 names took gigabytes of whoever widened each."""
    tensor = torch.ones(3)
    named = [responses.ParameterSpec(n, (3,), {"tensor": 0}, n, True) for n in ("a", "b")]
    with pytest.raises(ValueError, match="value of several parameters"):
        read_parameters(StepAnswer(responses.Created(parameters=named), [tensor]))
    assert read_parameters(StepAnswer(responses.Created(parameters=named[:1]), [tensor]))


@pytest.mark.parametrize("made", ["torch.ones(7, 5)", "torch.ones(5, 5, dtype=torch.uint8)"])
def test_first_weights_are_floats_of_the_shapes_of_the_contract(begin: Begin, made: str) -> None:
    source = f"""
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Module()
        self.lin.weight = nn.Parameter({made}, requires_grad=False)
        self.lin.bias = nn.Parameter(torch.ones(5))
        self.more = nn.Parameter(torch.ones(1000, dtype=torch.uint8), requires_grad=False)
"""
    harness = Harness(LAYER, begin(source), Draw(1), {})
    module = harness.module(weights={}, with_values=True)
    harness.ask()
    with pytest.raises(CheckFailed, match=r"expected the parameter `lin.weight` of shape \(5, 5\)"):
        _ = module.first_weights


def test_first_weights_are_those_of_the_contract(harness: Harness) -> None:
    module = harness.module(weights={}, with_values=True)
    harness.ask()
    assert module.made is not None
    assert set(module.first_weights) < set(module.made.parameters)  # `again` is none of them
    shapes = {name: tuple(value.shape) for name, value in module.first_weights.items()}
    assert shapes == {"lin.weight": (5, 5), "lin.bias": (5,)}


def test_too_much_is_not_differentiated(begin: Begin) -> None:
    face = DifferentiableProxy(RequestBatch(begin(SOURCE).channel), "much")
    with pytest.raises(SubmissionRefused, match="gives 100000 numbers, too many"):
        face(torch.ones(1, requires_grad=True))


@pytest.mark.parametrize("depth", [100, 900, 960, 980, 990, 1000, 2000])
def test_nested_answers_are_refused_at_any_depth(begin: Begin, depth: int) -> None:
    harness = hostile(begin, depth=depth)
    call = harness.module().call(harness.inputs())
    for _ in range(2):  # whoever looks again is told the same
        with pytest.raises((WorkerEnded, CheckFailed)):
            harness.ask(), call.out


def test_what_cannot_be_told_is_an_error_of_its_own(harness: Harness) -> None:
    before = harness.module().call(harness.inputs())
    odd = harness.module().call(harness.inputs(), method="surrogate")
    harness.ask()
    expect_close(before.out, before.expected)
    with pytest.raises(SubmissionError, match="surrogates not allowed"):
        _ = odd.result


def test_weights_are_there_when_a_module_is_told_its_mode(session: Session) -> None:
    folding = Harness(replace(LAYER, entry="Folding"), session, Draw(1), {})
    call = folding.module().call(folding.inputs())
    folding.ask()
    expect_close(call.out, call.expected)


def test_one_parameter_under_two_names_is_told(session: Session) -> None:
    shapes = {"lin.weight": (5, 5), "again.weight": (5, 5)}
    contract = replace(LAYER, parameters=lambda sizes: shapes)
    tied = Harness(contract, session, Draw(1), {})
    call = tied.module().call(tied.inputs())
    tied.ask()
    with pytest.raises(CheckFailed, match="is the same parameter as `lin"):
        _ = call.out


def test_what_was_observed_is_shared_by_contract_not_by_name(harness: Harness) -> None:
    def observe(one: Harness) -> list[Harness]:
        return [one]

    other = harness.of(replace(LAYER))
    assert harness.shared(observe) is harness.of(LAYER).shared(observe)
    assert harness.shared(observe) is not other.shared(observe)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_gradients_that_are_no_floats_are_not_believed(dtype: torch.dtype) -> None:
    answer = responses.Gradients(result={"list": [{"tensor": 0}]})
    with pytest.raises(ValueError, match="form of its input"):
        read_gradients(
            StepAnswer(answer, [torch.ones(3).to(dtype)]), [(torch.Size([3]), torch.device("cpu"))]
        )


def part(**changes: Any) -> responses.Called:
    return responses.Called(results=[1], grads=[], changed=[], **changes)


def refused() -> responses.Refused:
    return responses.Refused(text="is larger than 64 MiB in all")


@pytest.mark.parametrize(
    "answers",
    [
        [], [part()], [part(size=8), part()], [part(), part(size=1)],
        [part(), part(), part()], [refused(), part()], [part(), part(), refused()],
    ],
    ids=str,
)  # fmt: skip
def test_answers_of_another_number_or_size_are_not_believed(answers: Any) -> None:
    with pytest.raises(BadFrame):
        read_reply(responses.Reply(1, answers), b"", [2])


RULES = messages.Rules(("softmax",), ("*norm*",))


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("softmax", 2, "uses `softmax`"), ("_fused_RMS_norm", 0, "uses `norm`"),
        ("numbers_930_346", 1, ""), ("softmax", 3, ""), ("", 0, ""),
    ],
)  # fmt: skip
def test_broken_rule_is_told_in_words_of_the_rules(name: str, line: int, told: str) -> None:
    loaded = messages.Load("x = 1\ny = 2", "mine.py", RULES)
    reply = responses.Reply(1, [responses.Forbidden(name=name, line=line)])
    if told:
        (found,) = read_reply(reply, b"", [1], loaded)
        assert told in str(found)
    else:
        with pytest.raises(BadFrame, match="what it says is forbidden is not"):
            read_reply(reply, b"", [1], loaded)


def test_refusal_of_the_whole_is_told() -> None:
    found, *others = read_reply(responses.Reply(1, [refused()]), b"", [1, 1])
    assert others == [found]
    assert isinstance(found, SubmissionRefused)
    assert "is larger than" in str(found)
