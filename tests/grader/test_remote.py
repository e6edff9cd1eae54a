"""A module in a worker behaves as one in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.func import functional_call

from grader.sandbox.faults import SubmissionError, SubmissionRefused
from grader.sandbox.process import Sandbox
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.wire.values import Opaque
from grader.sandbox.workers import WorkerEnded
from grader.submission import Submission

Begin = Callable[[str], RemoteSubmission]
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


def add(x, y):
    return x + y


def overwrites(x):
    y = x.exp()
    z = y * 2
    y[0] = 0
    return z


def fails(x):
    half = x[..., :1]
    return half @ x.transpose(0, 1)


def folder():
    return os.getcwd(), dict(os.environ), sorted(os.listdir(".")), os.read(0, 10).decode()
"""


@pytest.fixture
def submission(begin: Begin) -> RemoteSubmission:
    return begin(SOURCE)


@pytest.fixture(scope="module")
def here() -> ModuleType:
    module = ModuleType("here")
    exec(SOURCE, module.__dict__)
    return module


def twin(remote: nn.Module, here: ModuleType) -> nn.Module:
    module: nn.Module = here.Mixer()
    module.load_state_dict(remote.state_dict(), strict=False)
    return module.to(next(remote.parameters()).dtype).eval()


def test_values_and_all_gradients_are_those_of_the_module_itself(
    submission: RemoteSubmission, here: ModuleType
) -> None:
    remote = submission.create("Mixer").eval()
    local = twin(remote, here)
    x = torch.randn(2, 5, 3)
    grads = []
    for module in (remote, local):
        leaf = x.clone().requires_grad_()
        out = module(leaf, scale=0.7, mask=torch.tensor([1, 0, 1]))
        names = [name for name, _ in module.named_parameters()]
        loss = (out * torch.arange(30).reshape(out.shape)).sum()
        grads.append((out, names, torch.autograd.grad(loss, [leaf, *module.parameters()])))
    torch.testing.assert_close(grads[0][0], grads[1][0])
    assert grads[0][1] == grads[1][1]
    torch.testing.assert_close(grads[0][2], grads[1][2])


def test_gradcheck_passes_by_input_and_by_parameters(submission: RemoteSubmission) -> None:
    remote = submission.create("Mixer", width=2).eval().double()
    x = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(remote, x)
    names = [name for name, _ in remote.named_parameters()]
    values = tuple(p.detach().clone().requires_grad_() for p in remote.parameters())
    assert torch.autograd.gradcheck(
        lambda *given: functional_call(remote, dict(zip(names, given, strict=True)), x.detach()),
        values,
    )


def test_optimizer_trains_it(submission: RemoteSubmission) -> None:
    torch.manual_seed(0)
    remote = submission.create("Mixer")
    optimizer = torch.optim.SGD(remote.parameters(), lr=0.05)
    x, wanted = torch.randn(7, 3), torch.randn(7, 3)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (remote.eval()(x) - wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_state_dict_goes_out_and_back(submission: RemoteSubmission) -> None:
    first, second = submission.create("Mixer").eval(), submission.create("Mixer").eval()
    x = torch.randn(2, 3)
    assert not torch.equal(first(x), second(x))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(x), second(x))


def test_tied_and_frozen_parameters_stay_so(submission: RemoteSubmission) -> None:
    remote = submission.create("Mixer", frozen=True)
    assert remote.tied.weight is remote.first.weight
    assert not remote.first.weight.requires_grad
    assert remote.first.bias.requires_grad


def test_training_and_evaluation_reach_the_worker(submission: RemoteSubmission) -> None:
    remote = submission.create("Mixer")
    x = torch.randn(50, 3)
    assert remote.training
    assert (remote(x) == 0).any()
    assert not (remote.eval()(x) == 0).any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtype_reaches_the_worker(
    submission: RemoteSubmission, here: ModuleType, dtype: torch.dtype
) -> None:
    remote = submission.create("Mixer").eval().to(dtype)
    x = torch.randn(4, 3, dtype=dtype)
    out = remote(x)
    assert out.dtype == dtype
    torch.testing.assert_close(out, twin(remote, here)(x))


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_device_reaches_the_worker(submission: RemoteSubmission, device: str) -> None:
    if not getattr(torch, device).is_available():
        pytest.skip(f"no {device} here")
    remote = submission.create("Mixer").eval().to(device)
    out = remote(torch.randn(4, 3, device=device, requires_grad=True))
    assert out.device.type == device
    out.sum().backward()
    assert remote.first.weight.grad.device.type == device


def test_structures_cross(submission: RemoteSubmission) -> None:
    x = torch.randn(2, 3)
    parts = submission.create("Mixer").method("parts")(x)
    torch.testing.assert_close(parts["sum"], x.sum())
    first, rest = parts["pair"]
    assert torch.equal(first, x)
    assert torch.equal(rest[0], 2 * x)
    assert rest[1:] == [None, 1.5, "text", True, float("inf")]


def test_change_in_place_happens_to_a_copy(submission: RemoteSubmission) -> None:
    x = torch.ones(2, 3)
    out = submission.create("Mixer").method("in_place")(x)
    assert torch.equal(out, torch.full((2, 3), 2.0))
    assert torch.equal(x, torch.ones(2, 3))


def test_memory_layout_crosses(submission: RemoteSubmission) -> None:
    remote = submission.create("Mixer").eval()
    x = torch.randn(3, 5, 3)
    wide = torch.zeros(5, 3, 6)
    wide[..., ::2] = x.transpose(0, 1)
    for layout in (x.transpose(0, 1), wide[..., ::2], x[:1].expand(4, 5, 3)):
        torch.testing.assert_close(remote(layout), remote(layout.contiguous()))


def test_detached_output_carries_no_gradient(submission: RemoteSubmission) -> None:
    remote = submission.create("Mixer")
    x = torch.randn(2, 3, requires_grad=True)
    assert not remote.method("detached")(x).requires_grad
    attached, detached, index = remote.method("half_detached")(x)
    assert [t.requires_grad for t in (attached, detached, index)] == [True, False, False]
    attached.sum().backward()
    assert x.grad is not None


def test_function_is_called_likewise(submission: RemoteSubmission) -> None:
    x = torch.randn(3, requires_grad=True)
    out = submission.function("add")(x, y=torch.ones(3))
    torch.testing.assert_close(out, x + 1)
    out.sum().backward()
    torch.testing.assert_close(x.grad, torch.ones(3))


def test_seed_repeats_and_prints_are_taken(submission: RemoteSubmission) -> None:
    remote = submission.create("Noisy")
    outs = []
    for _ in range(2):
        submission.seed(5)
        outs.append(remote(torch.zeros(2)))
    assert torch.equal(*outs)
    assert submission.take_output() == "seen (2,)\n" * 2
    assert submission.take_output() == ""


def test_exception_brings_its_frames_and_tensor_shapes(submission: RemoteSubmission) -> None:
    with pytest.raises(SubmissionError) as caught:
        submission.function("fails")(torch.randn(2, 3))
    fault = caught.value.fault
    assert fault.type == "RuntimeError"
    assert [(f.file, f.function, f.source) for f in fault.frames] == [
        ("mine.py", "fails", "return half @ x.transpose(0, 1)")
    ]
    shapes = {t.name: (t.shape, t.dtype) for t in fault.tensors}
    assert shapes == {"x": ((2, 3), "float32"), "half": ((2, 1), "float32")}


def test_change_between_forward_and_backward_is_an_error(submission: RemoteSubmission) -> None:
    x = torch.randn(3, requires_grad=True)
    out = submission.function("overwrites")(x)
    with pytest.raises(SubmissionError, match="in-place"):
        out.sum().backward()


def test_what_is_no_module_is_refused(submission: RemoteSubmission) -> None:
    with pytest.raises(SubmissionRefused, match="not an `nn"):
        submission.create("NoModule")
    with pytest.raises(SubmissionRefused, match="defines no `Absent`"):
        submission.create("Absent")


def test_worker_has_an_empty_folder_no_environment_and_no_input(
    submission: RemoteSubmission,
) -> None:
    _, environment, files, read = submission.function("folder")()
    assert environment == {}
    assert files == []
    assert read == ""


def test_objects_of_an_ended_worker_say_so(submission: RemoteSubmission) -> None:
    remote = submission.create("Mixer")
    submission.close()
    with pytest.raises(WorkerEnded):
        remote(torch.zeros(1, 3))
    submission.begin_check(2)
    with pytest.raises(WorkerEnded):
        remote(torch.zeros(1, 3))
    assert submission.create("Mixer").eval()(torch.zeros(1, 3)).shape == (1, 3)


def test_unknown_object_crosses_by_its_type(submission: RemoteSubmission) -> None:
    assert submission.function("NoModule")() == Opaque("NoModule")


def test_spawned_worker_serves_the_same(here: ModuleType) -> None:
    with Sandbox(spawn=True) as sandbox:
        made = RemoteSubmission(sandbox, Submission(Path("mine.py"), SOURCE), 60.0, 60.0)
        made.begin_check(1)
        remote = made.create("Mixer").eval()
        x = torch.randn(2, 3)
        torch.testing.assert_close(remote(x), twin(remote, here)(x))
        folder = Path(made.function("folder")()[0])
        assert folder.is_dir()
        made.close()
        assert not folder.exists()
