"""What of a grading on a GPU can be tried where there is none; the rest is in ``tests/gpu``."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader import grading
from grader.cli import options
from grader.errors import GradeError, GraderFault
from grader.hiring import process_pool
from grader.hiring.tasks import Capabilities, PoolSettings
from grader.sandbox import gpu as found_gpu
from grader.sandbox.clock import Clock
from grader.sandbox.errors import SubmissionError
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerProcess
from grader.submission import Submission
from grader.suite.compare import CheckFailed, computed_on, expect_close
from grader.wire import frames, greetings, messages, packing, responses, values
from grader.wire.levels import (
    GPU_CONTEXT_MIB,
    GPU_WORKERS_PER_SHARER,
    MIN_GPU_MIB_PER_WORKER,
    Confinement,
    Limits,
    sharers_that_fit,
)
from grader.worker import confine, gpu
from grader.worker.handler import RequestHandler
from grader.worker.zygote import find_no_gpus

SOURCE = """
import torch

def double(x):
    return 2 * x

def add_a_new_one(x):
    return x + torch.ones(x.shape)

def stays(x):
    return torch.zeros(3)

def draw(x, generator):
    return torch.rand(3, generator=generator, device=generator.device)
"""
NOTHING: messages.Tree = {"dict": {}}


def test_zygote_does_not_touch_cuda_before_it_forks() -> None:
    code = (
        "import torch\n"
        "def touched(*given, **named): raise SystemExit('touched CUDA')\n"
        "torch.cuda._lazy_init = torch.cuda.is_available = touched\n"
        "torch.cuda.device_count = torch._C._cuda_getDeviceCount = touched\n"
        "from grader.wire import messages\n"
        "from grader.worker.zygote import warm_up\n"
        "messages.Backward = touched  # the first one counts the GPUs, in C\n"
        "warm_up(on_gpu=True)\n"
        "print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def test_cuda_has_no_descriptor_to_begin_with_where_no_gpu_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def count() -> None:
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        counted.append(True)

    counted: list[bool] = []
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", count, raising=False)
    find_no_gpus()
    os.close(os.open(os.devnull, os.O_RDONLY))
    assert counted == [True]


@pytest.mark.parametrize(
    ("sharers", "total", "given"),
    [(1, 81_920, 2048), (1, 4096, 1536), (4, 8192, 512), (40, 81_920, 512)],
)
def test_workers_share_the_memory_that_there_is(sharers: int, total: int, given: int) -> None:
    limits = Limits(gpu_sharers=sharers)
    part = gpu.memory_fraction(limits, total)
    assert part * total == pytest.approx(given)
    assert sharers * GPU_WORKERS_PER_SHARER * (part * total + GPU_CONTEXT_MIB) <= total


@pytest.mark.parametrize(("total", "count"), [(4096, 2), (8192, 4), (81_920, 40), (2000, 0)])
def test_as_many_share_a_gpu_as_its_memory_is_enough_for(total: int, count: int) -> None:
    assert sharers_that_fit(total) == count
    if count:
        assert (
            gpu.memory_fraction(Limits(gpu_sharers=count), total) * total >= MIN_GPU_MIB_PER_WORKER
        )


def test_too_many_for_one_gpu_are_told_so() -> None:
    with pytest.raises(gpu.NoGpu, match="8192 MiB of the GPU are too few for 8 processes"):
        gpu.memory_fraction(Limits(gpu_sharers=8), 8192)


def test_memory_is_bounded_before_anything_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[Any] = []
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    total = SimpleNamespace(total_memory=8192 << 20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: total)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", order.append)

    def taken(*size: int, **how: object) -> Tensor:
        order.append("taken")
        raise RuntimeError("CUDA error: no kernel image\nCompile with ...")

    monkeypatch.setattr(torch, "ones", taken)
    with pytest.raises(gpu.NoGpu, match=r"^CUDA cannot be used there: .*no kernel image$"):
        gpu.initialize_cuda(Limits())
    assert order == [0.25, "taken"]


def test_nothing_is_touched_where_torch_has_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_device_properties", pytest.fail)
    gpu.initialize_cuda(Limits())
    assert not torch.cuda.is_initialized()


def test_level_at_which_cuda_fails_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import torch\ntorch.backends.cuda.is_built = lambda: True\n"
        "def broken(device): raise RuntimeError('no driver\\nmore')\n"
        "torch.cuda.get_device_properties = broken\n"
    )
    monkeypatch.setattr("grader.sandbox.launch.import_paths", lambda: [str(tmp_path), *sys.path])
    with (
        Sandbox("process", on_gpu=True) as sandbox,
        pytest.raises(GraderFault, match="CUDA cannot be used there: no driver; see"),
    ):
        assert sandbox.isolation


def test_worker_is_given_one_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia-modeset"):
        (tmp_path / name).touch()
    monkeypatch.setattr(confine, "DEV", tmp_path)

    def given(**how: Any) -> set[str]:
        return {path.name for path in confine.gpu_devices(Confinement(["full"], **how))}

    assert given() == set()
    assert given(on_gpu=True, gpu="/dev/nvidia1") == {"nvidia1", "nvidiactl", "nvidia-uvm"}
    every = {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm"}
    assert given(on_gpu=True) == every


@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="torch would begin with CUDA here")
def test_memory_of_the_machine_is_bounded_once_cuda_has_begun() -> None:
    source = (
        "import mmap\n"
        "for mebibytes in (400, 700):\n"
        "    try: print(len(mmap.mmap(-1, mebibytes << 20, flags=mmap.MAP_PRIVATE)) >> 20)\n"
        "    except OSError as error: print(error.strerror)\n"
    )
    with Sandbox("process", Limits(memory=512), on_gpu=True) as sandbox:
        session = Session(sandbox, Submission(Path("mine.py"), source), 60.0, 120.0)
        session.begin_check(1)
        session.close()
    assert (session.said_on_load or "").splitlines() == ["400", "Cannot allocate memory"]


@pytest.mark.slow("two workers, each in its turn")
@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="torch would begin with CUDA here")
def test_next_worker_begins_with_a_gpu_while_one_is_busy() -> None:
    with Sandbox("process", on_gpu=True) as sandbox:
        first = sandbox.worker()
        ready = sandbox._spare
        assert ready is not None
        sandbox.prepare()
        assert sandbox._spare is ready
        second = sandbox.worker()
        assert second is ready
        assert sandbox._spare is not second
        for worker in (first, second):
            worker.kill()
    with Sandbox("process") as sandbox:
        sandbox.worker().kill()
        assert sandbox._spare is None


def test_processes_that_share_a_gpu_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[PoolSettings] = []

    class Grader:
        def __init__(self, settings: PoolSettings) -> None:
            told.append(settings)

        def hello(self) -> Capabilities:
            return Capabilities()

    monkeypatch.setattr(process_pool, "_PooledProcess", Grader)
    process_pool.GradingPool(PoolSettings("", "auto", "cuda", 5.0, 1024, 2000), 3)
    assert [settings.gpu_sharers for settings in told] == [3, 3, 3]


def test_no_more_processes_than_a_gpu_is_enough_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "cores", lambda: 16)
    fit = process_pool.processes_that_fit
    assert fit(1024, 1 << 20) == 16
    assert fit(1024, 1 << 20, found_gpu.Gpu("GPU-0", 8192, "")) == 4
    assert fit(1024, 1 << 20, found_gpu.Gpu("GPU-0", 1000, "")) == 1
    assert fit(1300, 9000, found_gpu.Gpu("GPU-0", 1 << 20, "")) == 3


class Driver:
    """Answers as CUDA's driver does, for one GPU."""

    refuses = ""

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> int:
            if name == self.refuses:
                return 100
            match name:
                case "cuDeviceTotalMem_v2":
                    given[0]._obj.value = 8192 << 20
                case "cuDeviceGetUuid":
                    given[0][:] = range(16)
                case "cuDeviceGetPCIBusId":
                    given[0].value = b"0000:3B:00.0"
            return 0

        return call


def test_gpu_is_found_by_its_place_on_the_bus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_gpu, "PROC_GPUS", tmp_path)
    name = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert found_gpu._ask(Driver()) == (name, 8192, "")
    folder = tmp_path / "0000:3b:00.0"
    folder.mkdir()
    (folder / "information").write_text("Model: \t A\nDevice Minor: \t 3\nBlacklisted: \t No\n")
    assert found_gpu._ask(Driver()) == (name, 8192, "/dev/nvidia3")


def test_driver_without_a_gpu_offers_none(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver()
    monkeypatch.setattr(found_gpu.ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(found_gpu, "CONTROL_DEVICE", Path("/dev/null"))
    assert found_gpu.first_gpu.__wrapped__() is not None
    driver.refuses = "cuInit"
    assert found_gpu.first_gpu.__wrapped__() is None
    driver.refuses = ""
    monkeypatch.setattr(found_gpu, "CONTROL_DEVICE", Path("/dev/no-such-device"))
    assert found_gpu.first_gpu.__wrapped__() is None


@pytest.mark.parametrize(
    ("device", "there", "wanted"),
    [("auto", True, True), ("auto", False, False), ("cuda", False, True), ("cpu", True, False)],
)
def test_cuda_is_wanted_where_there_is_a_gpu(
    device: str, there: bool, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_gpu.Gpu("GPU-0", 8192, "") if there else None
    monkeypatch.setattr(options, "first_gpu", lambda: found)
    assert options.wants_cuda(device) is wanted


class SlowMeter:
    """Tells of a long time at each reading, until the start is over."""

    def __init__(self) -> None:
        self.was_read, self.started = threading.Event(), False

    def begin(self, cpu_seconds: float) -> None:
        self.began = cpu_seconds

    def read(self, clock: Clock, waited: float = 0.0) -> None:
        clock.processor += 0.0 if self.started else 5.0
        self.was_read.set()


def test_start_of_a_worker_is_not_its_submissions_time() -> None:
    """A context of CUDA takes seconds, which a check may not have."""
    meter = SlowMeter()

    class Starting:
        pid = os.getpid()

        def __init__(self, theirs: socket.socket, pipe: int) -> None:
            self.theirs = theirs.dup()
            threading.Thread(target=self.serve, daemon=True).start()

        def serve(self) -> None:
            frames.unpack(self.take, frames.MAX_REQUEST_HEADER_BYTES, messages.Request)
            meter.was_read.wait()
            meter.started = True
            self.theirs.sendall(frames.pack(greetings.Greeting("process", cpu_seconds=3.5)))
            self.theirs.sendall(frames.pack(responses.Reply(1, [responses.Done()])))

        def take(self, count: int) -> bytes:
            return self.theirs.recv(count, socket.MSG_WAITALL)

        def end(self) -> int:
            self.theirs.close()
            return 0

    worker, clock = WorkerProcess(Starting, threading.Event()), Clock(1.0)
    worker._meter = meter  # type: ignore[assignment]
    worker.send(messages.Request([messages.Step(messages.Ping())]), clock)
    reply, _ = worker.receive(clock)
    worker.kill()
    assert isinstance(reply.answers[0], responses.Done)
    assert clock.taken == 0
    assert meter.began == 3.5


def test_float32_has_more_room_on_a_gpu() -> None:
    right = torch.full((3,), 0.5, dtype=torch.float64)
    with computed_on("cuda"):
        expect_close((right + 3e-5).float(), right)
        with pytest.raises(CheckFailed, match="3 of 3 values differ"):
            expect_close((right + 5e-5).float(), right)
        with pytest.raises(CheckFailed, match="3 of 3 values differ"):
            expect_close(right + 1.5e-6, right)
    with pytest.raises(CheckFailed, match="3 of 3 values differ"):
        expect_close((right + 3e-5).float(), right)


@pytest.fixture(scope="module")
def another_device() -> str:
    """A device that every build of torch has: it refuses the CPU's tensors, as a GPU does."""
    backend = pytest.importorskip("torch._lazy.ts_backend")
    backend.init()
    return "lazy"


def asked(device: str, name: str, *tensors: Tensor, **kwargs: Any) -> list[Tensor]:
    """What a function of the source gives in a worker of a device."""
    handler = RequestHandler()
    handler.do_load(messages.Load(SOURCE, "mine.py", device=device), [])
    sent: list[Tensor] = []
    trees = values.encode(tensors, sent), values.encode(kwargs, sent)
    specs, body = packing.dump_tensors(sent, strided=True)
    call = messages.Call(name, [messages.Arguments(*trees)], detect_inplace=True)
    handler.carry_out(messages.Step(call, specs, len(body)), memoryview(body))
    return handler.sent


def test_inputs_lie_where_the_worker_is_told(another_device: str) -> None:
    x = torch.arange(6.0).view(2, 3)
    (out,) = asked(another_device, "double", x)
    assert out.device.type == another_device
    specs, _ = packing.dump_tensors([out])
    assert specs[0].device == f"{another_device}:0"
    assert torch.equal(out.cpu(), 2 * x)


def test_new_tensor_without_a_device_does_not_meet_the_inputs(another_device: str) -> None:
    with pytest.raises(RuntimeError):
        asked(another_device, "add_a_new_one", torch.ones(2, 3))
    (out,) = asked("cpu", "add_a_new_one", torch.ones(2, 3))
    assert torch.equal(out, torch.full((2, 3), 2.0))


def test_what_comes_from_a_gpu_is_read_on_the_cpu() -> None:
    spec = messages.TensorSpec("float32", [3], "cuda:0")
    (out,) = packing.load_tensors([spec], torch.ones(4).numpy().tobytes())
    assert out.device.type == "cpu"
    assert torch.equal(out, torch.ones(3))


def test_generator_is_of_the_workers_device(monkeypatch: pytest.MonkeyPatch) -> None:
    (out,) = asked("cpu", "draw", torch.ones(1), generator=torch.Generator().manual_seed(3))
    assert torch.equal(out, torch.rand(3, generator=torch.Generator().manual_seed(3)))
    tree, made = values.encode(torch.Generator().manual_seed(3), []), []
    real = torch.Generator
    monkeypatch.setattr(torch, "Generator", lambda device: made.append(device) or real())
    values.decode({"tuple": [tree, tree]}, [], None, {}, torch.device("cuda:0"))
    assert made == [torch.device("cuda:0")]


def lost_context() -> None:
    raise RuntimeError("CUDA error: device-side assert triggered")


def test_worker_that_lost_its_device_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index out of range is an exception on the CPU; on a GPU it ends the whole context."""
    call = messages.Call("nothing", [messages.Arguments({"tuple": []}, NOTHING)])
    for home, lost in (("cpu", False), ("cuda:0", True)):
        handler = RequestHandler()
        handler.home = torch.device(home)
        monkeypatch.setattr(torch.cuda, "synchronize", lost_context)
        packed = io.BytesIO(handler.answer(messages.Request([messages.Step(call)]), b""))
        reply = frames.unpack(packed.read, frames.MAX_REPLY_HEADER_BYTES, responses.Reply)[0]
        assert isinstance(reply.answers[0], responses.Refused)
        assert reply.spent is lost


def test_worker_that_is_spent_costs_its_check_alone(begin: Callable[[str], Session]) -> None:
    session = begin(
        "import sys\n"
        "Handler = sys.modules['grader.worker.handler'].RequestHandler\n"
        "Handler._has_lost_its_device = lambda self: True\n"
        "def fails(x): return x[7]\n"
        "def double(x): return 2 * x\n"
    )
    first = session.channel.worker
    batch = session.batch()
    call = batch.call("fails", [((torch.ones(3),), {})])
    batch.send()
    with pytest.raises(SubmissionError, match="IndexError"):
        call.result()
    assert not first.alive
    session.begin_check(2)
    assert session.channel.worker is not first
    batch = session.batch()
    call = batch.call("double", [((torch.ones(3),), {})])
    batch.send()
    assert torch.equal(call.result(), torch.full((3,), 2.0))


def test_gpu_is_taken_where_workers_are_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(grading, "first_gpu", lambda: found_gpu.Gpu("GPU-0", 8192, ""))
    assert grading.choose_device("auto") == grading.choose_device("cuda") == "cuda"
    assert grading.choose_device("auto", on_gpu=False) != "cuda"
    monkeypatch.setattr(grading, "first_gpu", lambda: None)  # of another maker, say
    assert grading.choose_device("auto") != "cuda"
    with pytest.raises(GradeError, match="no device `cuda` that torch can use"):
        grading.choose_device("cuda")
