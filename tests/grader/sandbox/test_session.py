"""What is planned for a worker happens there, in its order, as it would in this process."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grader.sandbox.channel import TENSOR_OBJECT_BYTES, Exchange, ExchangeMemory
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.face import DifferentiableProxy
from grader.sandbox.pending import NotYetSent, PendingModule
from grader.sandbox.process import Sandbox
from grader.sandbox.replies import StepAnswer
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerEnded
from grader.submission import Submission
from grader.wire.responses import Done
from grader.wire.values import Opaque

Begin = Callable[[str], Session]
SOURCE = """
import os
import torch
from torch import nn

class Mixer(nn.Module):
    def __init__(self, width=3, frozen=False):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.steps = nn.Sequential(nn.Tanh(), nn.Linear(width, width, bias=False))
        self.tied = self.first
        self.drop = nn.Dropout(0.5)
        self.register_buffer("offset", torch.ones(width))
        if frozen:
            self.first.weight.requires_grad_(False)

    def forward(self, x, scale=1.0, mask=None):
        y = self.drop(self.steps(self.first(x)) * scale + self.tied(x) + self.offset)
        return y if mask is None else y * mask

    def parts(self, x):
        return {"sum": x.sum(), "pair": (x, [x * 2, None, 1.5, "text", True, float("inf")])}

    def in_place(self, x):
        x.mul_(2)
        return x

    def detached(self, x):
        return self.first(x).detach()

    def half_detached(self, x):
        return self.first(x), self.first(x).detach(), x.argmax()

class NoModule:
    pass

class Noisy(nn.Module):
    def forward(self, x):
        print("seen", tuple(x.shape))
        return torch.rand(3)

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

def add(x, y):
    return x + y if isinstance(x, torch.Tensor) or isinstance(x, int) else x.number

class Own:
    number = 3

def parts_of(x):
    return {"sum": x.sum(), "pair": (x, x * 2), "own": [Own()]}

def total(x, y):
    return x.sum() + y

def doubles_in_place(x):
    return x.mul_(2)

def halves(x):
    return x * 2, x.detach(), x.argmax()

def overwrites(x):
    y = x.exp()
    z = y * 2
    y[0] = 0
    return z

def mixed(x, weight):
    return nn.functional.linear(x, weight)

def fails(x):
    half = x[..., :1]
    return half @ x.transpose(0, 1)

def folder():
    return os.getcwd(), dict(os.environ), sorted(os.listdir(".")), os.read(0, 10).decode()
"""


@pytest.fixture
def session(begin: Begin) -> Session:
    return begin(SOURCE)


@pytest.fixture(scope="module")
def here() -> ModuleType:
    module = ModuleType("here")
    exec(SOURCE, module.__dict__)
    return module


def run(session: Session, name: str, *args: Any, **kwargs: Any) -> Any:
    """What a function of the submission gives."""
    batch = session.batch()
    call = batch.call(name, [(args, kwargs)])
    batch.send()
    return call.result()


def run_method(session: Session, name: str, *args: Any) -> Any:
    """What a method of a fresh module gives."""
    batch = session.batch()
    call = batch.call(batch.create("Mixer"), [(args, {})], method=name)
    batch.send()
    return call.result()


def made(session: Session, **kwargs: Any) -> PendingModule:
    """A module, with the values of its parameters."""
    batch = session.batch()
    module = batch.create("Mixer", (), kwargs, with_values=True)
    batch.send()
    return module


def forward(session: Session, module: PendingModule, *args: Any, mode: bool = False) -> Any:
    batch = session.batch()
    call = batch.call(module, [(args, {})], mode=mode)
    batch.send()
    return call.result()


def values_of(module: PendingModule) -> dict[str, Tensor]:
    return {name: p.value for name, p in module.parameters.items() if p.value is not None}


def twin(module: PendingModule, here: ModuleType) -> nn.Module:
    local: nn.Module = here.Mixer()
    local.load_state_dict(values_of(module), strict=False)
    return local.eval()


def test_garbage_is_collected_in_a_worker(begin: Begin) -> None:
    begin("import gc\n\nassert gc.isenabled()").load()


def test_values_and_all_gradients_are_those_of_the_module_itself(
    session: Session, here: ModuleType
) -> None:
    module = made(session)
    local = twin(module, here)
    x, mask = torch.randn(2, 5, 3, requires_grad=True), torch.tensor([1, 0, 1])
    weights = values_of(module)
    names = [name for name, _ in local.named_parameters()]
    grad_output = torch.arange(30.0).reshape(2, 5, 3)
    batch = session.batch()
    call = batch.call(
        module, [((x,), {"scale": 0.7, "mask": mask})], mode=False, grad_parameters=names
    )
    back = batch.backward(call, {(0,): grad_output}, [weights[name] for name in names])
    batch.send()
    out = local(x, scale=0.7, mask=mask)
    right = torch.autograd.grad((out * grad_output).sum(), [x, *local.parameters()])
    torch.testing.assert_close(call.result(), out.detach())
    torch.testing.assert_close(back.gradients, list(right))


def test_gradcheck_passes_by_input_and_by_parameters(session: Session) -> None:
    module = made(session, width=2)
    batch = session.batch()
    batch.move(module, torch.float64)
    weights = {n: v.double() for n, v in values_of(module).items() if "tied" not in n}
    face = DifferentiableProxy(batch, module, list(weights), mode=False)
    leaves = [torch.randn(2, 2, dtype=torch.float64), *weights.values()]
    assert torch.autograd.gradcheck(face, [leaf.requires_grad_() for leaf in leaves])


def test_tied_and_frozen_parameters_are_told(session: Session) -> None:
    found = made(session, frozen=True).parameters
    assert found["tied.weight"].same_as == "first.weight"
    assert not found["first.weight"].requires_grad
    assert found["first.bias"].requires_grad


def test_training_and_evaluation_reach_the_worker(session: Session) -> None:
    module, x = made(session), torch.randn(50, 3)
    assert (forward(session, module, x, mode=True) == 0).any()
    assert not (forward(session, module, x) == 0).any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtype_reaches_the_worker(session: Session, here: ModuleType, dtype: torch.dtype) -> None:
    module, x = made(session), torch.randn(4, 3, dtype=dtype)
    batch = session.batch()
    batch.move(module, dtype)
    batch.send()
    out = forward(session, module, x)
    assert out.dtype == dtype
    torch.testing.assert_close(out, twin(module, here).to(dtype)(x).detach())


@pytest.mark.skipif(not torch.mps.is_available(), reason="no `mps` here; CUDA is in tests/gpu")
def test_device_reaches_the_worker(sandbox: Sandbox) -> None:
    session = Session(sandbox, Submission(Path("mine.py"), SOURCE), 5.0, 60.0, device="mps")
    session.begin_check(1)
    module, x = made(session), torch.randn(4, 3, requires_grad=True)
    batch = session.batch()
    call = batch.call(module, [((x,), {})], mode=False, grad_parameters=[])
    back = batch.backward(call, {(0,): torch.ones(4, 3)})
    batch.send()
    session.close()
    assert [device.partition(":")[0] for device in call.results.devices] == ["mps"]
    assert call.result().device == x.device
    (grad,) = back.gradients
    assert grad is not None
    assert grad.device == x.device


def test_structures_cross(session: Session) -> None:
    x = torch.randn(2, 3)
    parts = run_method(session, "parts", x)
    torch.testing.assert_close(parts["sum"], x.sum())
    first, rest = parts["pair"]
    assert torch.equal(first, x)
    assert torch.equal(rest[0], 2 * x)
    assert rest[1:] == [None, 1.5, "text", True, float("inf")]


def test_outputs_are_handed_on_without_leaving_the_worker(session: Session) -> None:
    x = torch.randn(2, 3)
    batch = session.batch()
    first = batch.call("parts_of", [((x,), {})])
    second = batch.call("total", [((first.output(0, "pair", 1), first.output(0, "sum")), {})])
    third = batch.call("add", [((first.output(0, "own", 0), x), {})])
    batch.send()
    torch.testing.assert_close(second.result(), (2 * x).sum() + x.sum())
    assert third.result() == 3
    absent = batch.call("add", [((first.output(0, "pair", 7), x), {})])
    batch.send()
    with pytest.raises(SubmissionRefused, match=r"gave no output\['pair'\]\[7\]"):
        absent.result()


def test_what_was_handed_on_is_what_was_given_however_it_is_changed(session: Session) -> None:
    x = torch.ones(2, 3)
    batch = session.batch()
    first = batch.call("add", [((x, x), {})])
    second = batch.call("doubles_in_place", [((first.output(0),), {})])
    third = batch.call("add", [((first.output(0), x), {})])
    batch.send()
    assert torch.equal(first.result(), 2 * x)
    assert torch.equal(second.result(), 4 * x)
    assert torch.equal(third.result(), 5 * x)  # a state that is changed in place stays so


def test_change_in_place_happens_to_a_copy(session: Session) -> None:
    x = torch.ones(2, 3)
    assert torch.equal(run_method(session, "in_place", x), torch.full((2, 3), 2.0))
    assert torch.equal(x, torch.ones(2, 3))


def test_memory_layout_crosses(session: Session) -> None:
    module, x = made(session), torch.randn(3, 5, 3)
    wide = torch.zeros(5, 3, 6)
    wide[..., ::2] = x.transpose(0, 1)
    for layout in (x.transpose(0, 1), wide[..., ::2], x[:1].expand(4, 5, 3)):
        plain = forward(session, module, layout.contiguous())
        torch.testing.assert_close(forward(session, module, layout), plain)


def test_detached_output_carries_no_gradient(session: Session) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    batch = session.batch()
    module = batch.create("Mixer")
    calls = [
        batch.call(module, [((x,), {})], method=method, grad_parameters=["first.bias"])
        for method in ("detached", "half_detached")
    ]
    grads = {(0, 0): torch.ones(2, 3), (0, 1): torch.ones(2, 3), (0, 5): torch.ones(1)}
    backs = [batch.backward(call, grads, [torch.zeros(3)]) for call in calls]
    batch.send()
    assert calls[0].results.grads == [False]
    assert calls[1].results.grads == [True, False, False]
    assert backs[0].gradients == [None, None]
    torch.testing.assert_close(backs[1].gradients[1], torch.full((3,), 2.0))


def test_face_marks_what_carries_no_gradient(session: Session) -> None:
    batch = session.batch()
    x = torch.randn(2, 3, requires_grad=True)
    attached, detached, index = DifferentiableProxy(batch, "halves")(x)
    assert [t.requires_grad for t in (attached, detached, index)] == [True, False, False]
    attached.sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2, 3), 2.0))


def test_part_of_a_class_is_called_by_its_path(session: Session) -> None:
    batch = session.batch()
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(DifferentiableProxy(batch, "Square.apply"), [x])
    with pytest.raises(SubmissionRefused, match=r"defines no `Square\.absent`"):
        run(session, "Square.absent", x)


def test_seed_repeats_and_prints_are_taken(session: Session) -> None:
    batch = session.batch()
    module = batch.create("Noisy")
    calls = [batch.call(module, [((torch.zeros(2),), {})], seed=5) for _ in range(2)]
    batch.send()
    assert torch.equal(*(call.result() for call in calls))
    assert session.take_output() == "seen (2,)\n" * 2
    assert session.take_output() == ""


def test_exception_brings_its_frames_and_tensor_shapes(session: Session) -> None:
    with pytest.raises(SubmissionError) as caught:
        run(session, "fails", torch.randn(2, 3))
    fault = caught.value.fault
    assert fault.type == "RuntimeError"
    assert [(f.file, f.function, f.source) for f in fault.frames] == [
        ("mine.py", "fails", "return half @ x.transpose(0, 1)")
    ]
    shapes = {t.name: (t.shape, t.dtype) for t in fault.tensors}
    assert shapes == {"x": ((2, 3), "float32"), "half": ((2, 1), "float32")}


def test_change_between_forward_and_backward_is_an_error(session: Session) -> None:
    x = torch.randn(3, requires_grad=True)
    out = DifferentiableProxy(session.batch(), "overwrites")(x)
    with pytest.raises(SubmissionError, match="in-place"):
        out.sum().backward()


def test_what_is_no_module_is_refused(session: Session) -> None:
    for name, said in (("NoModule", "not an `nn"), ("Absent", "defines no `Absent`")):
        batch = session.batch()
        refused = batch.create(name)
        batch.send()
        with pytest.raises(SubmissionRefused, match=said):
            _ = refused.parameters


def test_result_that_was_not_asked_for_is_a_fault_of_who_looks(session: Session) -> None:
    batch = session.batch()
    call = batch.call("add", [((1, 2), {})])
    with pytest.raises(NotYetSent):
        call.result()
    batch.send()
    assert call.result() == 3


def test_worker_has_an_empty_folder_no_environment_and_no_input(session: Session) -> None:
    _, environment, files, read = run(session, "folder")
    assert environment == {}
    assert files == []
    assert read == ""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("features", [5, 15, 31, 63, 64])
def test_no_kernel_carries_nan_to_another_token(
    features: int, dtype: torch.dtype, session: Session
) -> None:
    x = torch.randn(2, 11, features).to(dtype)
    x[:, 4] = torch.nan
    found = run(session, "mixed", x, torch.randn(features, features).to(dtype))
    assert found.isfinite().all(-1).tolist() == [[place != 4 for place in range(11)]] * 2


def test_objects_of_an_ended_worker_say_so(session: Session) -> None:
    batch = session.batch()
    module = batch.create("Mixer")
    batch.send()
    session.close()
    session.begin_check(2)
    call = batch.call(module, [((torch.zeros(1, 3),), {})])
    with pytest.raises(WorkerEnded, match="had already ended"):
        batch.send()
    with pytest.raises(WorkerEnded, match="had already ended"):
        call.result()
    assert forward(session, made(session), torch.zeros(1, 3)).shape == (1, 3)


def test_session_that_saw_an_exception_goes_when_it_is_dropped(sandbox: Sandbox) -> None:
    """The exception knows the frames it went through, these know modules and calls."""

    def fail() -> weakref.ref[Session]:
        session = Session(sandbox, Submission(Path("mine.py"), SOURCE), 5.0, 60.0)
        session.begin_check(1)
        module = made(session)
        with pytest.raises(SubmissionError):
            forward(session, module, torch.zeros(1, 30))
        assert module.parameters
        session.close()
        return weakref.ref(session)

    dropped = fail()
    gc.collect()
    assert dropped() is None


def test_unknown_object_crosses_by_its_type(session: Session) -> None:
    assert run(session, "NoModule") == Opaque("NoModule")


def test_spawned_worker_serves_the_same(here: ModuleType) -> None:
    with Sandbox(spawn=True) as sandbox:
        session = Session(sandbox, Submission(Path("mine.py"), SOURCE), 60.0, 60.0)
        session.begin_check(1)
        module, x = made(session), torch.randn(2, 3)
        torch.testing.assert_close(forward(session, module, x), twin(module, here)(x).detach())
        folder = Path(run(session, "folder")[0])
        assert folder.is_dir()
        session.close()
        assert not folder.exists()


def test_answers_are_kept_as_long_as_there_is_room() -> None:
    memory = ExchangeMemory(max_bytes=TENSOR_OBJECT_BYTES + 100)
    exchange = Exchange([], [], [1], [StepAnswer(Done(), [torch.zeros(20)])])
    assert memory.kept(exchange) is exchange
    assert memory.kept(exchange).answers == []


def test_session_that_is_closed_keeps_nothing_of_what_was_asked(session: Session) -> None:
    asked = session.exchanges
    run(session, "folder")
    assert asked
    session.close()
    assert not asked
