"""The zygote: imports torch once, then forks a worker whenever it is asked to.

Started as ``python -P -m grader.worker DESCRIPTOR CONFINEMENT`` with one thread
for torch's pools (a fork after multi-threaded work hangs). It never sees a suite, a solution or
an expected value, so there is none in the memory of the workers that it forks.

Where the confinement says ``spawned``, this process is the worker itself, for platforms where a
fork is not safe.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
import warnings
from pathlib import Path

import msgspec
import torch
from torch import Tensor

from grader.wire import frames, greetings, messages, packing
from grader.wire.kernels import choose_kernels
from grader.wire.levels import Confinement
from grader.worker import gpu, hugepages, rules, serving
from grader.worker.confine import Walls, choose_level
from grader.worker.devices import allow_autocast
from grader.worker.eager import compile_nothing
from grader.worker.graphs import let_gradients_begin
from grader.worker.handler import MODULE_NAME, RequestHandler
from grader.worker.kernels import keep_kernels
from grader.worker.removal import Remover, abandoned_folders
from grader.worker.walls.libc import WallError
from grader.worker.walls.limits import limit_data, limit_resources, memory_in_use

REMOVAL_POLL_INTERVAL_S = 0.1
MAX_FINAL_REMOVAL_S = 3.0  # for workers' folders, at the end of a session
FORKS_BEFORE_COLLAPSE = 10  # by then more are likely, and what makes each faster pays off


class Zygote:
    """Forks workers, ends them, and cleans up after them.

    Every request is one message on ``control``: ``fork`` with a connection and an output pipe,
    answered by the worker's process ID; ``end`` with a process ID, answered by how that process
    ended, once nothing is left of it.
    """

    def __init__(self, control: socket.socket, walls: Walls) -> None:
        self.control = control
        self.walls = walls
        self.folders: dict[int, str] = {}  # of the workers, by process ID
        self.remover = Remover()
        self.forks = 0

    def run(self) -> None:
        """Serve until the trusted side, the grader, is gone; then end every worker."""
        with contextlib.suppress(ConnectionError):
            while self._serve():
                pass
        for pid in list(self.folders):
            self._end(pid)
        if self.walls.level != "full":  # whose workers leave no folder, and which sees none
            for folder in abandoned_folders():
                self.remover.remove(folder)
        self.remover.go_on(MAX_FINAL_REMOVAL_S)
        for folder in self.remover.left:
            sys.stderr.write(f"grade: a submission filled `{folder}`, which is not removed yet\n")

    def _serve(self) -> bool:
        while (
            self.remover.pid
            and not select.select([self.control], [], [], REMOVAL_POLL_INTERVAL_S)[0]
        ):
            self.remover.go_on(0.0)
        message, descriptors, _, _ = socket.recv_fds(self.control, greetings.MESSAGE_BYTES, 2)
        if not message:
            return False
        operation, _, argument = message.decode().strip().partition(" ")
        if operation == "fork":
            self._fork(descriptors)
        elif operation == "end":
            self.control.sendall(frames.pack(greetings.Ended(self._end(int(argument)))))
        return True

    def _fork(self, descriptors: list[int]) -> None:
        self.forks += 1
        if self.forks == FORKS_BEFORE_COLLAPSE:
            hugepages.collapse()
        try:
            pid, folder = self.walls.fork()
        except (WallError, OSError) as error:
            self.control.sendall(frames.pack(greetings.Forked(refused=str(error))))
            return
        if pid == 0:
            try:
                self._become_worker(descriptors, folder)
            finally:
                os._exit(70)
        self.folders[pid] = folder
        for descriptor in descriptors:
            os.close(descriptor)
        self.control.sendall(frames.pack(greetings.Forked(pid)))

    def _become_worker(self, descriptors: list[int], folder: str) -> None:
        self.control.close()
        connection = socket.socket(fileno=descriptors[0])
        confinement = self.walls.confinement
        try:
            self.walls.confine(folder)
            if confinement.on_gpu:
                gpu.initialize_cuda(confinement.limits)
                limit_data(confinement.limits)
            self.walls.seal()
        except (WallError, OSError, gpu.NoGpu) as error:
            connection.sendall(frames.pack(greetings.Greeting("", str(error))))
            return
        connection.sendall(
            frames.pack(greetings.Greeting(self.walls.level, cpu_seconds=time.process_time()))
        )
        serving.serve(connection, descriptors[1])

    def _end(self, pid: int) -> int:
        """Kill a worker if it still lives, end all that it started, and return its wait status."""
        os.kill(pid, signal.SIGKILL)  # the ID is still the worker's, until it is waited for
        _, status = os.waitpid(pid, 0)
        folder = self.folders.pop(pid)
        self._end_orphans()
        self.remover.remove(folder)
        return status

    def _end_orphans(self) -> None:
        """Kill the processes that workers left behind, which became the zygote's own children."""
        tasks = Path(f"/proc/self/task/{os.getpid()}/children")
        while tasks.exists():
            found = {int(pid) for pid in tasks.read_text(encoding="ascii").split()}
            orphans = found - self.folders.keys() - {self.remover.pid}
            if not orphans:
                return
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


WARM_UP_SOURCE = """
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, 3 * width)
        self.dropout = nn.Dropout(0.5)
        self.more = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x, mask=None):
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = (q @ k.transpose(-1, -2) / 3**0.5).masked_fill(mask == 0, float("-inf"))
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return torch.cat([layer(weights @ v) for layer in self.more], dim=-1)
"""


def find_no_gpus() -> None:
    """Have torch count no GPU in this process and in those that it forks, whatever there is.

    The first backward asks for their number. CUDA then starts threads, even where its environment
    hides every GPU, and who has threads makes no namespaces. Without a descriptor it starts none.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with warnings.catch_warnings(action="ignore"):
            torch._C._cuda_getDeviceCount()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def warm_up(*, on_gpu: bool) -> None:
    """Run what nearly every submission runs, so that no worker spends time on its first use.

    A backward initializes CUDA, if only to count the GPUs, and starts a thread for each. So where
    workers are to use a GPU, the first one is theirs.
    """
    handler = RequestHandler()

    def ask(operation: messages.Operation, *tensors: Tensor) -> None:
        specs, body = packing.dump_tensors(list(tensors), strided=True)
        step = messages.Step(operation, specs, len(body), seed=0)
        answer = handler.answer(messages.Request([step]), body)
        assert b'"raised"' not in answer, answer

    nothing: messages.Tree = {"dict": {}}
    ask(messages.Load(WARM_UP_SOURCE, "warm_up.py"))
    for handle in (1, 2):
        ask(messages.Create(handle, "Layer", {"tuple": [3]}, nothing, with_values=True))
    x, mask = torch.randn(2, 3, 3), torch.ones(3, 3)
    calls = [messages.Arguments({"tuple": [{"tensor": 0}, {"tensor": 1}]}, nothing)]
    ask(messages.Call(1, calls, mode=True), x, mask)
    names = ["proj.weight", "more.0.bias"]
    ask(
        messages.Call(1, calls, mode=True, results_handle=3, gradients=True, grad_parameters=names),
        x.requires_grad_(),
        mask,
    )
    if not on_gpu:
        ask(messages.Backward(3, [[0]]), x.detach())
    ask(messages.Move(2, "float32", "meta"))
    ask(messages.Call(2, calls, mode=True), x.detach().to("meta"), mask.to("meta"))
    del sys.modules[MODULE_NAME]
    rules.loaded_modules()
    rules.operations()


def main(arguments: list[str]) -> None:
    """Serve as a zygote, or as the one worker of a spawned process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trusted side's to handle
    control = socket.socket(fileno=int(arguments[0]))
    confinement = msgspec.json.decode(arguments[1], type=Confinement)
    choose_kernels()
    if torch.backends.cuda.is_built() and not confinement.on_gpu:
        find_no_gpus()
    warm_up(on_gpu=confinement.on_gpu)
    keep_kernels()
    compile_nothing()
    let_gradients_begin()
    allow_autocast()
    gc.collect()
    gc.freeze()
    if confinement.spawned:
        limit_resources(
            confinement.limits, memory_in_use(), own_users=False, on_gpu=confinement.on_gpu
        )
        with tempfile.TemporaryDirectory(prefix=f"grade-{os.getpid()}-") as folder:
            os.chdir(folder)
            control.sendall(
                frames.pack(greetings.Greeting("process", cpu_seconds=time.process_time()))
            )
            serving.serve(control, os.dup(1))
        return
    level, refused = choose_level(confinement)
    walls = Walls(confinement, level) if level else None
    control.sendall(frames.pack(greetings.Offer(level, refused, walls.tasks if walls else 0)))
    if walls is not None:
        Zygote(control, walls).run()
    sys.stderr.flush()
    os._exit(0)  # tearing down a process that has loaded torch takes a tenth of a second
