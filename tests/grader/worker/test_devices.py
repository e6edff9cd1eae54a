"""What stands for another device has the values that it should have, and no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.wire import messages, packing, responses
from grader.worker.devices import SimulatedDevice
from grader.worker.handler import RequestHandler
from grader.worker.refusals import ReadsValues

ONE: messages.Tree = {"tuple": [{"tensor": 0}]}
NOTHING: messages.Tree = {"dict": {}}
LAYER = """
import torch
from torch import nn
from torch.nn import functional as F

def inferred(function):
    with torch.inference_mode():
        return function()

made = torch.ones(3, 3, device="meta")

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.both = nn.Sequential(self.inner, self.inner)
        self.register_buffer("table", torch.arange(3.0))
        self.folded = None

    def train(self, mode=True):
        self.folded = None if mode else self.inner.weight.sum(0)
        return super().train(mode)

    def forward(self, x):
        return {body}
"""
BODIES = {
    "numbers": "x * torch.tensor([1.0, 2.0, 3.0], device=x.device)",
    "numbers as a tensor has them": "x + x.new_tensor([1.0, 2.0, 3.0])",
    "tensors that are there already": "torch.as_tensor(x, device=x.device) + "
    "torch.asarray(x, device=x.device, copy=True)",
    "data": "x.data @ self.inner.weight.data",
    "data that is set": "with_data(x.new_zeros(0), 2 * x) + with_data(x.clone(), x.exp())",
    "a module of two names": "self.both(x)",
    "a buffer": "x + self.table",
    "what was folded when it was told its mode": "x * self.folded",
    "in place": "x.clone().add_(1).t().contiguous().t()",
    "places that are known": "x[torch.tensor([True, False, True])]",
    "places in a list": "written(x[:, [-1]] + x[[2, 0, 1]], [0, 2])",
    "places in a range": "x[:, range(2)].mT + x[range(2)]",
    "rows that a list of truths names": "x[[True, False, True]]",
    "values at a mask": "x.clone().masked_fill_(x > 0, 2.0).index_put_((x > 1,), x.sum())",
    "one of so many": "x * inferred(lambda: F.one_hot(x.argmax(-1), 3))",
    "a sparse matrix": "torch.sparse.mm(torch.eye(3, device=x.device).to_sparse(), x).to_sparse()"
    ".to_dense()",
    "numbers to be conjugated": "(torch.polar(x, -x).conj() * torch.complex(x, x)).conj().imag",
    "pairs of the conjugate": "torch.view_as_real(torch.complex(x, x).mH.resolve_conj()).sum(-1)",
    "views of what is no inference tensor": "inferred(lambda: x[1:].mT.expand(2, 3, 2)).sum(0).mT"
    ".new_zeros(3, 3) + inferred(lambda: x[0])",
    "a class of its own": "Box(x.clone()).add(1).held + Box(x).held",
    "as many times as is known": "x.repeat_interleave((x[0] > 9).long() + 1, 0, output_size=3)",
}
VALUES = {
    "an item": "x * x.max().item()",
    "an item, inferred": "x * inferred(lambda: x.max().item())",
    "a branch": "x if x.sum() > 0 else -x",
    "a list": "x + torch.tensor(x.tolist(), device=x.device)",
    "a copy on the CPU": "x + (x.cpu() * 2).to(x.device)",
    "numbers of another device's": "x + torch.as_tensor(x, device='cpu').to(x.device)",
    "a copy into what is there": "x + torch.empty(3, 3).copy_(x).to(x.device)",
    "a mask": "x[x > 0].sum() + x",
    "places": "x + torch.nonzero(x > 0).sum()",
    "times": "x.repeat_interleave((x[0] > 9).long() + 1, 0)",
}
LEARNING = {
    "a layer": "self.inner(x)",
    "a module of two names": "self.both(x)",
    "a result that is kept": "x.softmax(-1) @ x.exp()",
    "a part that is written to": "written(x)",
    "of a backward of its own": "Twice.apply(x)",
    "places in a list": "x[:, [2, 0]].prod(-1, keepdim=True) * x[[2, 1, 0], [0, 2, 1]]",
    "complex numbers": "(torch.polar(x.exp(), x) * torch.complex(x, x).conj()).imag",
}
MIXED = "MixedDevices"
OF_TWO_DEVICES = {
    "rows put there from the CPU": ("x.index_put((torch.tensor([1]),), torch.ones(3))", MIXED),
    "a number among those there": ("x + torch.stack([x.sum(), torch.tensor(1.0)]).sum()", MIXED),
    "looked up by a place on the CPU": ("x + x.index_select(0, torch.tensor(1))", MIXED),
    "a sparse matrix on the CPU": ("torch.sparse.mm(torch.eye(3).to_sparse(), x)", MIXED),
    "looked up on the CPU": ("x * torch.ones(9)[(0 * x).long()]", MIXED),
    "made by a backward": ("OnTheCPU.apply(x)", MIXED),
    "given by a backward": ("Moved.apply(x)", "RuntimeError"),
    "read by a hook": ("hooked(x)", "ReadsValues"),
    "read while gradients are recorded": ("finite(x)", "ReadsValues"),
}
FUNCTIONS = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]

class OnTheCPU(Twice):
    @staticmethod
    def backward(ctx, grad):
        return grad * torch.full((3,), 2.0) * ctx.saved_tensors[0]

class Moved(Twice):
    @staticmethod
    def backward(ctx, grad):
        return torch.ones(3, 3)

class Box(torch.Tensor):
    @staticmethod
    def __new__(cls, held):
        form = dict(dtype=held.dtype, device=held.device)
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, **form)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return cls(func(*(one.held if isinstance(one, cls) else one for one in args)))

def written(x, places=slice(1, None)):
    out = torch.zeros_like(x)
    out[places] = 3 * x[places]
    return out * x

def with_data(x, data):
    x.data = data
    return x

def hooked(x):
    out = 2 * x
    if out.requires_grad:
        out.register_hook(expect_finite)
    return out

def expect_finite(grad):
    assert grad.isfinite().all()

def finite(x):
    assert not torch.is_grad_enabled() or x.isfinite().all()
    return x
"""


Do = Callable[..., responses.Answer]
Begin = Callable[[str, bool], tuple[Do, RequestHandler]]
Back = Callable[[str, Tensor, bool], list[Tensor]]


@pytest.fixture
def begin() -> Begin:

    def made(body: str, elsewhere: bool) -> tuple[Do, RequestHandler]:
        handler = RequestHandler()

        def do(operation: messages.Operation, *tensors: Tensor) -> responses.Answer:
            specs, data = packing.dump_tensors(list(tensors), strided=True)
            step = messages.Step(operation, specs, len(data), seed=0)
            return handler.carry_out(step, memoryview(data))

        do(messages.Load(LAYER.replace("{body}", body) + FUNCTIONS, "layer.py"))
        do(messages.Create(1, "Layer", {"tuple": []}, NOTHING))
        if elsewhere:
            do(messages.Move(1, device="meta"))
        return do, handler

    return made


@pytest.fixture
def ask(begin: Begin) -> Callable[..., tuple[responses.Called, list[Tensor]]]:
    def made(body: str, x: Tensor, elsewhere: bool) -> tuple[responses.Called, list[Tensor]]:
        do, handler = begin(body, elsewhere)
        calls = [messages.Arguments(ONE, NOTHING)]
        called = do(messages.Call(1, calls, mode=False, use_other_device=elsewhere), x)
        assert isinstance(called, responses.Called)
        return called, handler.sent

    return made


@pytest.fixture
def go_back(begin: Begin) -> Back:
    def made(body: str, x: Tensor, elsewhere: bool) -> list[Tensor]:
        do, handler = begin(body, elsewhere)
        calls = [messages.Arguments(ONE, NOTHING)]
        call = messages.Call(
            1, calls, mode=True, results_handle=2, gradients=True, use_other_device=elsewhere
        )
        do(call, x.clone().requires_grad_())
        do(messages.Backward(2, [[0]], "accumulated"), torch.ones_like(x))
        return handler.sent

    return made


@pytest.mark.parametrize("name", BODIES)
def test_values_on_another_device_are_those_on_the_cpu(
    name: str, ask: Callable[..., tuple[responses.Called, list[Tensor]]]
) -> None:
    x = torch.randn(3, 3)
    _, expected = ask(BODIES[name], x, False)
    called, got = ask(BODIES[name], x, True)
    assert called.on_other_device == [True]
    torch.testing.assert_close(got, expected)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own, at first use
def test_forward_derivative_on_another_device_is_that_on_the_cpu(
    ask: Callable[..., tuple[responses.Called, list[Tensor]]],
) -> None:
    body = "torch.func.vmap(torch.func.jacfwd(lambda v: v.square().mean() + 1e-5))(x.double())"
    x = torch.randn(3, 3)
    _, expected = ask(body, x, False)
    _, got = ask(body, x, True)
    torch.testing.assert_close(got, expected)


def test_empty_tensor_on_another_device_has_none_of_them(
    ask: Callable[..., tuple[responses.Called, list[Tensor]]],
) -> None:
    x = torch.randn(3, 3)
    called, got = ask("torch.full_like(x, 7.0)", x, True)
    assert called.on_other_device == [True]
    torch.testing.assert_close(got, [torch.full((3, 3), 7.0)])


def test_tensor_on_the_cpu_is_told(
    ask: Callable[..., tuple[responses.Called, list[Tensor]]],
) -> None:
    called, _ = ask("torch.ones(3, 3)", torch.randn(3, 3), True)
    assert called.on_other_device == [False]


@pytest.mark.parametrize("body", ["x + made", "x.exp().as_subclass(nn.Parameter)"])
def test_what_came_there_by_no_operation_is_not_made_up(
    body: str, ask: Callable[..., tuple[responses.Called, list[Tensor]]]
) -> None:
    called, got = ask(body, torch.randn(3, 3), True)
    assert called.on_other_device == [True]
    assert got[0].device.type == "meta"


@pytest.mark.parametrize("name", LEARNING)
def test_gradients_on_another_device_are_those_on_the_cpu(name: str, go_back: Back) -> None:
    x = torch.randn(3, 3)
    expected = go_back(LEARNING[name], x, False)
    assert expected[0].device.type == "cpu"
    torch.testing.assert_close(go_back(LEARNING[name], x, True), expected)


@pytest.mark.parametrize("name", OF_TWO_DEVICES)
def test_what_goes_back_on_two_devices_or_reads_is_refused(name: str, go_back: Back) -> None:
    body, kind = OF_TWO_DEVICES[name]
    x = torch.randn(3, 3)
    assert go_back(body, x, False)
    with pytest.raises(RuntimeError) as caught:
        go_back(body, x, True)
    assert type(caught.value).__name__ == kind
    assert kind != "RuntimeError" or "expected device meta but got" in str(caught.value)


@pytest.mark.parametrize("name", VALUES)
def test_values_are_refused_where_there_may_be_none(
    name: str, ask: Callable[..., tuple[responses.Called, list[Tensor]]]
) -> None:
    x = torch.randn(3, 3)
    ask(VALUES[name], x, False)
    with pytest.raises(ReadsValues):
        ask(VALUES[name], x, True)


def test_what_is_there_no_more_takes_no_memory() -> None:
    """A loop in Python makes thousands of tensors, which took gigabytes."""
    other = SimulatedDevice(torch.device("cpu"))
    with other:
        x = torch.ones(3).to("meta").requires_grad_()
        total = x
        for _ in range(100):
            total = total * 1.0 + 1
        total.backward(torch.ones(3).to("meta"))
        assert x.grad is not None
        assert other.twin_of(x.grad).tolist() == [1.0] * 3
        assert len(other._twins) < 20


def test_what_is_changed_in_place_stays_the_same_tensor() -> None:
    other = SimulatedDevice(torch.device("cpu"))
    with other:
        x = torch.ones(2, 3).to("meta")
        assert x.add_(1) is x
        assert x.t_() is x
        assert x.shape == (3, 2)
        assert torch.add(x, 1, out=(into := torch.zeros(3, 2).to("meta"))) is into
    assert other.twin_of(into).tolist() == [[3.0, 3.0]] * 3


def test_sparse_gradient_of_an_embedding_lies_where_the_embedding_does() -> None:
    other = SimulatedDevice(torch.device("cpu"))
    with other:
        weight = torch.ones(4, 2).to("meta").requires_grad_()
        places = torch.tensor([1, 3, 1]).to("meta")
        torch.nn.functional.embedding(places, weight, sparse=True).sum().backward()
        assert weight.grad is not None
        assert weight.grad.device.type == "meta"
        assert other.twin_of(weight.grad)[:, 0].tolist() == [0.0, 2.0, 0.0, 1.0]
