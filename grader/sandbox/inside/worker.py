"""The worker: loads one submission and answers requests about it, one at a time.

It knows nothing of suites: a request names an operation, and the answer is data. Whatever the
submission raises, ``SystemExit`` included, becomes an answer.
"""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from grader.sandbox.inside import faults
from grader.sandbox.inside.devices import OneDevice
from grader.sandbox.inside.graphs import Graph, kept_for_backward
from grader.sandbox.wire import frames, values

MODULE = "submission"


class Refusal(Exception):
    """A request that the submission's own shape makes impossible; the text is for the learner."""


class Worker:
    """Serves one submission; every public method named ``do_…`` answers one operation."""

    def __init__(self) -> None:
        self.filename = "submission.py"
        self.module = ModuleType(MODULE)
        self.objects: dict[int, Any] = {}
        self.graphs: dict[int, Graph] = {}
        self.sent: list[Tensor] = []

    def answer(self, request: dict[str, Any], body: bytes) -> bytes:
        """Carry out a request and pack its answer."""
        number = request.pop("number")
        header, data = self._carry_out(request, body)
        return frames.pack({**header, "number": number}, data)

    def _carry_out(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """The answer to a request: its header and its tensors."""
        self.sent = []
        try:
            for dropped in request.pop("drop", ()):
                self.objects.pop(dropped, None)
                self.graphs.pop(dropped, None)
            if (seed := request.pop("seed", None)) is not None:
                _seed(seed)
            if "several" in request:
                return self._carry_out_all(request["several"], body)
            tensors = values.load_tensors(request.pop("tensors", []), body, strided=True)
            operation: Callable[..., dict[str, Any]] = getattr(self, "do_" + request.pop("do"))
            header = operation(tensors=tensors, **request)
            specs, data = values.dump_tensors(self.sent)
            told = {key: msgspec.Raw(msgspec.json.encode(value)) for key, value in header.items()}
            return {**told, "tensors": specs}, data
        except (Refusal, values.Unsendable) as error:
            return {"refused": str(error)}, b""
        except BaseException as error:
            fault = faults.describe(error, self.filename)
            faults.forget(error.__traceback__)
            return {"fault": fault}, b""

    def _carry_out_all(
        self, requests: list[dict[str, Any]], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        """The answers to several requests, up to the first that fails."""
        answers, parts, start = [], [], 0
        for request in requests:
            end = start + request.pop("size")
            header, data = self._carry_out(request, body[start:end])
            answers.append({**header, "size": len(data)})
            parts.append(data)
            start = end
            if sum(map(len, parts)) > frames.MAX_BODY:
                raise values.Unsendable(f"is larger than {frames.MAX_BODY >> 20} MiB in all")
            if "tensors" not in header:
                break
        return {"several": answers}, b"".join(parts)

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

    def do_create(
        self,
        target: int,
        name: str,
        args: Any,
        kwargs: Any,
        told: bool,
        tensors: list[Tensor],
    ) -> dict[str, Any]:
        """Construct a module and describe its parameters, with their values if ``told`` is set.

        ``target`` is what later requests call it by.
        """
        made = self._global(name)(*values.decode(args, tensors), **values.decode(kwargs, tensors))
        if not isinstance(made, nn.Module):
            kind = type(made).__qualname__
            raise Refusal(f"`{name}(…)` gives an object of type `{kind}`, not an `nn.Module`")
        self.objects[target] = made
        parameters = dict(made.named_parameters(remove_duplicate=False))
        first = {id(p): name for name, p in reversed(parameters.items())}
        return {
            "training": made.training,
            "parameters": [
                {
                    "name": name,
                    "shape": list(p.shape),
                    "value": values.encode(p, self.sent) if told else None,
                    "same_as": first[id(p)],
                    "requires_grad": p.requires_grad,
                }
                for name, p in parameters.items()
            ],
        }

    def do_move(
        self, target: int, dtype: str | None, device: str | None, tensors: list[Tensor]
    ) -> dict[str, Any]:
        """Move a module to a dtype and a device; None leaves it where it is."""
        self.objects[target].to(device=device, dtype=dtype and values.DTYPES[dtype])
        return {}

    def do_call(
        self,
        target: int | str,
        method: str,
        calls: list[dict[str, Any]],
        parameters: dict[str, int],
        learned: list[str],
        mode: bool | None,
        graph: int | None,
        watch: bool,
        tensors: list[Tensor],
    ) -> dict[str, Any]:
        """Call a module, a method of it, or a function; keep the graph where one is wanted.

        Each of ``calls`` has tensors of its own, so that what one does to them no other sees.
        ``parameters`` are new values by index; gradients may be asked for, in this order, of
        the inputs that require one and of the parameters named in ``learned``: by the number
        ``graph``, where there is one. ``mode`` is given where training and evaluation changed.
        What the calls change of their inputs is told if ``watch`` is set.
        """
        function, own = self._callable(target, method)
        with torch.no_grad():
            for name, index in parameters.items():
                if name not in own:
                    raise Refusal(f"the parameter `{name}` is gone since the module was made")
                own[name].copy_(tensors[index])
        if mode is not None:  # only now: a module may fold its weights when it is told
            self.objects[target].train(mode)  # type: ignore[index]  # only a module has a mode
        inputs = tensors[: len(tensors) - len(parameters)]
        on_meta = any(x.device.type == "meta" for x in inputs)
        before = [x.detach().clone() for x in inputs] if watch else []
        grad = graph is not None and not on_meta
        kept = kept_for_backward(own) if grad else nullcontext()
        header: dict[str, Any] = {"results": []}
        for call in calls:
            args, kwargs = (values.decode(call[part], tensors) for part in ("args", "kwargs"))
            with torch.set_grad_enabled(grad), OneDevice() if on_meta else kept:
                result = function(*args, **kwargs)
            header["results"].append(values.encode(result, self.sent))
            if len(calls) > 1 and not on_meta:  # a later call may overwrite what this one gave
                self.sent[:] = [x.detach().clone() for x in self.sent]
        outputs = list(self.sent)
        header["grad"] = [x.requires_grad for x in outputs]
        if graph is not None and any(header["grad"]):
            sources = [*(x for x in inputs if x.requires_grad), *(own[name] for name in learned)]
            self.graphs[graph] = Graph(sources, [x for x in outputs if x.requires_grad])
        pairs = enumerate(zip(before, inputs, strict=watch))
        header["changed"] = [i for i, (old, new) in pairs if not _same(old, new)]
        return header

    def do_backward(self, graph: int, tensors: list[Tensor]) -> dict[str, Any]:
        """Gradients of a kept graph's inputs, given those of its outputs; None without a graph."""
        kept = self.graphs.get(graph)
        found = None if kept is None else kept.backward(tensors)
        return {"result": values.encode(found, self.sent)}

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


def _same(old: Tensor, new: Tensor) -> bool:
    if old.shape != new.shape:
        return False
    return torch.equal(old, new) or torch.equal(old.nan_to_num(nan=-1.5), new.nan_to_num(nan=-1.5))


def _seed(seed: int) -> None:
    """Seed what is in use: ``torch.manual_seed`` leaves a stack trace with each back end."""
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    if torch.mps.is_available():
        torch.mps.manual_seed(seed)
