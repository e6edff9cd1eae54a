"""The worker: loads one submission and answers requests about it, one at a time.

It knows nothing of suites: a request names an operation, and the answer is data. Whatever the
submission raises, ``SystemExit`` included, becomes an answer.
"""

from __future__ import annotations

import linecache
import os
import random
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from grader.sandbox.inside import faults
from grader.sandbox.inside.devices import OneDevice
from grader.sandbox.wire import frames, values

MODULE = "submission"


@dataclass
class Graph:
    """What a backward request needs of a forward: kept until the trusted side lets it go."""

    inputs: list[Tensor]
    outputs: list[Tensor]


class Refusal(Exception):
    """A request that the submission's own shape makes impossible; the text is for the learner."""


class Worker:
    """Serves one submission; every public method named ``do_…`` answers one operation."""

    def __init__(self) -> None:
        self.filename = "submission.py"
        self.module = ModuleType(MODULE)
        self.objects: dict[int, Any] = {}
        self.graphs: dict[int, Graph] = {}
        self.numbers = iter(range(1, 1 << 62))
        self.sent: list[Tensor] = []

    def answer(self, request: dict[str, Any], body: bytes) -> bytes:
        """Carry out a request and pack its answer."""
        self.sent = []
        number = request.pop("number")
        try:
            for dropped in request.pop("drop", ()):
                self.objects.pop(dropped, None)
                self.graphs.pop(dropped, None)
            if (seed := request.pop("seed", None)) is not None:
                torch.manual_seed(seed)
                random.seed(seed)
            tensors = values.load_tensors(request.pop("tensors", []), body)
            operation: Callable[..., dict[str, Any]] = getattr(self, "do_" + request.pop("do"))
            header = operation(tensors=tensors, **request)
            specs, data = values.dump_tensors(self.sent)
            return frames.pack({**header, "number": number, "tensors": specs}, data)
        except (Refusal, values.Unsendable) as error:
            return frames.pack({"number": number, "refused": str(error)})
        except BaseException as error:
            fault = faults.describe(error, self.filename)
            faults.forget(error.__traceback__)
            return frames.pack({"number": number, "fault": fault})

    def do_load(self, source: str, filename: str, tensors: list[Tensor]) -> dict[str, Any]:
        """Run a submission's source as a module of its own."""
        self.filename = filename
        self.module.__file__ = filename
        sys.modules[MODULE] = self.module
        lines = source.splitlines(keepends=True)
        linecache.cache[filename] = (len(source), None, lines, filename)
        exec(compile(source, filename, "exec", dont_inherit=True), self.module.__dict__)
        return {}

    def do_nothing(self, tensors: list[Tensor]) -> dict[str, Any]:
        """Answer, so that the other side knows that somebody does."""
        return {}

    def do_create(self, name: str, args: Any, kwargs: Any, tensors: list[Tensor]) -> dict[str, Any]:
        """Construct a module and describe its parameters and buffers."""
        made = self._global(name)(*values.decode(args, tensors), **values.decode(kwargs, tensors))
        if not isinstance(made, nn.Module):
            kind = type(made).__qualname__
            raise Refusal(f"`{name}(…)` gives an object of type `{kind}`, not an `nn.Module`")
        number = next(self.numbers)
        self.objects[number] = made
        parameters = dict(made.named_parameters(remove_duplicate=False))
        first = {id(p): name for name, p in reversed(parameters.items())}
        return {
            "object": number,
            "training": made.training,
            "parameters": [
                {
                    "name": name,
                    "value": values.encode(p, self.sent),
                    "same_as": first[id(p)],
                    "requires_grad": p.requires_grad,
                }
                for name, p in parameters.items()
            ],
        }

    def do_move(
        self, target: int, dtype: str, device: str, tensors: list[Tensor]
    ) -> dict[str, Any]:
        """Move a module to a dtype and a device."""
        self.objects[target].to(device=device, dtype=values.DTYPES[dtype])
        return {}

    def do_call(
        self,
        target: int | str,
        method: str,
        args: Any,
        kwargs: Any,
        parameters: dict[str, int],
        learned: list[str],
        mode: bool | None,
        grad: bool,
        tensors: list[Tensor],
    ) -> dict[str, Any]:
        """Call a module, a method of it, or a function; keep the graph where one is wanted.

        ``parameters`` are new values by index; gradients may be asked for, in this order, of
        the inputs that require one and of the parameters named in ``learned``. ``mode`` is given
        where training and evaluation changed.
        """
        if mode is not None:
            self.objects[target].train(mode)  # type: ignore[index]  # only a module has a mode
        function, own = self._callable(target, method)
        with torch.no_grad():
            for name, index in parameters.items():
                if name not in own:
                    raise Refusal(f"the parameter `{name}` is gone since the module was made")
                own[name].copy_(tensors[index])
        inputs = tensors[: len(tensors) - len(parameters)]
        on_meta = any(x.device.type == "meta" for x in inputs)
        before = [] if on_meta else [x.detach().clone() for x in inputs]
        grad = grad and not on_meta
        kept = _kept_for_backward(own) if grad else nullcontext()
        with torch.set_grad_enabled(grad), OneDevice() if on_meta else kept:
            result = function(*values.decode(args, tensors), **values.decode(kwargs, tensors))
        tree = values.encode(result, self.sent)
        outputs = list(self.sent)
        header: dict[str, Any] = {"result": tree, "grad": [x.requires_grad for x in outputs]}
        if any(header["grad"]):
            sources = [*(x for x in inputs if x.requires_grad), *(own[name] for name in learned)]
            header["graph"] = next(self.numbers)
            self.graphs[header["graph"]] = Graph(sources, [x for x in outputs if x.requires_grad])
        pairs = enumerate(zip(before, inputs, strict=bool(before)))
        header["changed"] = [i for i, (old, new) in pairs if not _same(old, new)]
        return header

    def do_backward(self, graph: int, tensors: list[Tensor]) -> dict[str, Any]:
        """Gradients of a kept graph's inputs, given those of its outputs."""
        kept = self.graphs[graph]
        # Not `grad_outputs`: its first use imports hundreds of modules in every fresh worker.
        total = torch.stack(
            [(out * g).sum() for out, g in zip(kept.outputs, tensors, strict=True)]
        ).sum()
        wanted = [x for x in kept.inputs if x.requires_grad]
        found = torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True)
        grads = iter(found)
        result = [next(grads) if x.requires_grad else None for x in kept.inputs]
        return {"result": values.encode(result, self.sent)}

    def _global(self, name: str) -> Any:
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise Refusal(f"the file defines no `{name}`") from None

    def _callable(self, target: int | str, method: str) -> tuple[Any, dict[str, Tensor]]:
        """What to call, and the parameters that it learns by."""
        if isinstance(target, str):
            return self._global(target), {}
        module = self.objects[target]
        learned = dict(module.named_parameters(remove_duplicate=False))
        if not method:
            return module, learned
        if not hasattr(module, method):
            raise Refusal(f"`{type(module).__qualname__}` has no method `{method}`")
        return getattr(module, method), learned


def _kept_for_backward(parameters: dict[str, Tensor]) -> saved_tensors_hooks:
    """Let a graph keep its own copy of the parameters, which a later call may set anew.

    Any other tensor that is changed between forward and backward is an error, as always.
    """
    storages = {p.untyped_storage().data_ptr() for p in parameters.values()}

    def pack(saved: Tensor) -> tuple[Tensor, int]:
        if saved.untyped_storage().data_ptr() in storages:
            saved = saved.detach().clone()
        return saved, saved._version

    def unpack(packed: tuple[Tensor, int]) -> Tensor:
        saved, version = packed
        if saved._version != version:
            raise RuntimeError(
                f"a tensor of shape {tuple(saved.shape)} that the gradient needs has been "
                "modified by an in-place operation"
            )
        return saved

    return saved_tensors_hooks(pack, unpack)


def _same(old: Tensor, new: Tensor) -> bool:
    return old.shape == new.shape and torch.equal(
        old.nan_to_num(nan=-1.5), new.detach().nan_to_num(nan=-1.5)
    )


def serve(connection: socket.socket, output: int) -> None:
    """Answer requests until the other side closes the connection.

    Args:
        connection: To the trusted side.
        output: The descriptor that everything printed goes to.
    """
    _settle(output)

    def receive(count: int) -> bytes:
        parts = []
        while count:
            part = connection.recv(min(count, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    worker = Worker()
    while True:
        request, body = frames.unpack(receive, frames.MAX_REQUEST_HEADER)
        reply = worker.answer(request, body)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:  # the submission may have closed or replaced it
                continue
        connection.sendall(reply)


def _settle(output: int) -> None:
    """No input, no environment, all output to one pipe, and only our own paths to import from."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = open(  # noqa: SIM115  a descriptor that stays open
            descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.environ.clear()
    tempfile.tempdir = str(Path.cwd())  # the template may have found another
    home = str(Path(__file__).parents[3])  # a checkout, unless it is the libraries' own folder
    if Path(home).name not in ("site-packages", "dist-packages"):
        sys.path[:] = [path for path in sys.path if path != home]
