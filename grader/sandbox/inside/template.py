"""The template: imports torch once, then forks a worker whenever it is asked to.

Started as ``python -P -m grader.sandbox.inside.template DESCRIPTOR`` with one thread for torch's
pools (a fork after multi-threaded work hangs). It never sees a suite, a solution or an expected
value, so there is none in the memory of the workers that it forks.

With the word ``spawned`` after the descriptor it is the worker itself, for platforms where a
fork is not safe.
"""

from __future__ import annotations

import array
import contextlib
import gc
import os
import select
import signal
import socket
import sys

import torch
from torch import nn

from grader.sandbox.inside import worker
from grader.sandbox.wire import frames


class Template:
    """Forks workers, and sees them out.

    Every request is one message on ``control``: ``fork`` with a connection, an output pipe and
    the worker's folder, answered by its process number and a handle to it; ``status`` with a
    process number, answered by how that process ended.
    """

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.handles: dict[int, int] = {}  # process number -> pidfd
        self.ended: dict[int, int] = {}  # process number -> wait status

    def run(self) -> None:
        """Serve until the trusted side is gone; then end every worker."""
        while True:
            ready, _, _ = select.select([self.control.fileno(), *self.handles.values()], [], [])
            self._reap(ready)
            if self.control.fileno() in ready and not self._serve():
                break
        for handle in self.handles.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)

    def _reap(self, ready: list[int]) -> None:
        for pid, handle in list(self.handles.items()):
            if handle in ready:
                self._wait(pid)

    def _wait(self, pid: int) -> None:
        os.close(self.handles.pop(pid))
        _, self.ended[pid] = os.waitpid(pid, 0)

    def _serve(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self.control, 4096, 3)
        if not message:
            return False
        operation, _, argument = message.decode().partition(" ")
        if operation == "fork":
            self._fork(descriptors, argument)
        elif operation == "status":
            pid = int(argument)
            if pid in self.handles:
                self._wait(pid)
            self.control.sendall(frames.pack({"status": self.ended.pop(pid, 0)}))
        return True

    def _fork(self, descriptors: list[int], folder: str) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                self._become_worker(descriptors, folder)
            finally:
                os._exit(70)
        self.handles[pid] = os.pidfd_open(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        answer = frames.pack({"pid": pid})
        ancillary = array.array("i", [self.handles[pid]])
        self.control.sendmsg([answer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ancillary)])

    def _become_worker(self, descriptors: list[int], folder: str) -> None:
        os.setsid()
        self.control.close()
        for handle in self.handles.values():
            os.close(handle)
        connection, output = descriptors
        os.chdir(folder)
        worker.serve(socket.socket(fileno=connection), output)


def warm_up() -> None:
    """Run what nearly every submission runs, so that no worker pays for its first use."""
    layer = nn.Linear(3, 3)
    x = torch.randn(2, 3, 3, requires_grad=True)
    out = torch.softmax(layer(x) @ x.transpose(-1, -2) / 3**0.5, dim=-1) @ x
    torch.autograd.grad(nn.functional.dropout(out, 0.5).sum(), [x, *layer.parameters()])
    torch.cat([layer(x) for layer in nn.ModuleList([nn.Linear(3, 3)])], dim=-1)
    worker.Worker().answer({"do": "seed", "number": 0, "seed": 0}, b"")


def main(arguments: list[str]) -> None:
    """Serve as a template, or as the one worker of a spawned process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trusted side's to handle
    control = socket.socket(fileno=int(arguments[0]))
    warm_up()
    gc.collect()
    gc.freeze()
    if arguments[1:] == ["spawned"]:
        worker.serve(control, os.dup(1))
    else:
        Template(control).run()


if __name__ == "__main__":
    main(sys.argv[1:])
