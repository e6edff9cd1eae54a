"""Loads one submission and answers requests about it, one at a time.

The handler knows nothing of suites: a step names an operation, and the answer is data. Whatever
the submission raises, ``SystemExit`` included, becomes an answer.
"""

from __future__ import annotations

import io
import itertools
import linecache
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import msgspec
import torch

# Imported before a submission is loaded, which may replace these names in torch.
from torch import Tensor, nn

from grader.wire import frames, messages, packing, responses, values
from grader.wire.originals import no_overrides, requires_grad_of, shape_of
from grader.worker import describe_exception, registered, seeding
from grader.worker.calling import WatchedCalls
from grader.worker.devices import SimulatedDevice
from grader.worker.kept import Kept, Refusal
from grader.worker.rules import ForbiddenCalls
from grader.worker.seeing import HiddenOperations
from grader.worker.weights import lend_weights, set_weights

MODULE_NAME = "submission"


class RequestHandler:
    """Serves one submission; every public method named ``do_…`` carries out one operation."""

    def __init__(self) -> None:
        self.filename = "submission.py"
        self.home = packing.CPU
        self.module = ModuleType(MODULE_NAME)
        self.kept = Kept()
        self.sent: list[Tensor] = []
        self.generators: dict[int, torch.Generator] = {}  # of the current step, by seed
        self.forbidden_calls = ForbiddenCalls()

    def answer(self, request: messages.Request, body: frames.Buffer) -> bytes:
        """Carry out a request, each group up to the first step that fails, and pack the reply."""
        for handle in request.release:
            self.kept.release(handle)
        answers: list[msgspec.Raw] = []
        parts: list[bytes] = []
        start = total = 0
        lost = False
        steps = iter(request.steps)
        for count in request.groups or [len(request.steps)]:
            failed = False
            for step in itertools.islice(steps, count):
                if not failed:
                    data = memoryview(body)[start : start + step.size]
                    answer, sent, failed = self._answer_step(step, data)
                    answers.append(answer)
                    parts.append(sent)
                    total += len(sent)
                    lost = lost or (failed and self._has_lost_its_device())
                start += step.size
            if total > frames.MAX_BODY_BYTES:
                text = f"is larger than {frames.MAX_BODY_BYTES >> 20} MiB in all"
                answers, parts = [_encoded(responses.Refused(text=text))], []
                break
        return frames.pack(responses.PackedReply(request.number, answers, lost), *parts)

    def _has_lost_its_device(self) -> bool:
        """Whether CUDA is unusable in this process: one index out of range is enough for that."""
        if self.home.type != "cuda":
            return False
        try:
            torch.cuda.synchronize()
        except Exception:  # of whatever type torch raises
            return True
        return False

    def _answer_step(
        self, step: messages.Step, data: memoryview
    ) -> tuple[msgspec.Raw, bytes, bool]:
        """Return the answer to a step, the bytes of its tensors, and whether the step failed."""
        answer, sent, failed = self._try(step, data)
        self.forbidden_calls.guard_new_modules()
        if self.forbidden_calls.broken is not None:  # even if the submission caught the exception
            return _encoded(self.forbidden_calls.broken), b"", True
        return answer, sent, failed

    def _try(self, step: messages.Step, data: memoryview) -> tuple[msgspec.Raw, bytes, bool]:
        """Return the same as ``_answer_step``, without looking at whether a rule was broken."""
        try:
            answer = self.carry_out(step, data)
            answer.tensors, sent = packing.dump_tensors(self.sent)
            answer.size = len(sent)
            return _encoded(answer), sent, False
        except (Refusal, HiddenOperations, packing.Unsendable) as error:
            return _encoded(responses.Refused(text=str(error))), b"", True
        except BaseException as error:
            fault = describe_exception.describe(error, self.filename)
            describe_exception.forget(error.__traceback__)
            return _encoded(responses.Raised(fault=fault)), b"", True

    def carry_out(self, step: messages.Step, data: memoryview) -> responses.Answer:
        """Carry out a step; the tensors of its answer are left in ``sent``.

        Raises:
            Refusal: The submission cannot serve the step.
            BaseException: Whatever the submission raises.
        """
        self.sent, self.generators = [], {}
        if step.seed is None:
            seeding.move_seed()
        else:
            seeding.seed(step.seed)
        tensors = packing.load_tensors(step.tensors, data, strided=True, home=self.home)
        name = "do_" + type(step.operation).__name__.lower()
        do: Callable[..., responses.Answer] = getattr(self, name)
        return do(step.operation, tensors)

    def do_load(self, load: messages.Load, tensors: list[Tensor]) -> responses.Answer:
        """Run a submission's source as a module of its own."""
        self.settle(load.device)
        self.filename = load.filename
        self.forbidden_calls = ForbiddenCalls(load.rules, load.filename)
        self.module.__file__ = load.filename
        sys.modules[MODULE_NAME] = self.module
        lines = io.StringIO(load.source).readlines()  # a form feed ends no line
        linecache.cache[load.filename] = (len(load.source), None, lines, load.filename)
        code = compile(load.source, load.filename, "exec", dont_inherit=True)
        exec(code, self.module.__dict__)
        return responses.Done()

    def settle(self, device: str) -> None:
        """Set the device on which all inputs and modules lie from here on."""
        self.home = torch.empty(0, device=device).device  # with its index: `cuda:0` for `cuda`

    def do_ping(self, ping: messages.Ping, tensors: list[Tensor]) -> responses.Answer:
        """Do nothing."""
        return responses.Done()

    def do_create(self, create: messages.Create, tensors: list[Tensor]) -> responses.Answer:
        """Construct a module and describe its parameters."""
        args, kwargs = (self._decode(tree, tensors) for tree in (create.args, create.kwargs))
        constructor, home = self._global(create.name), self.home

        def make() -> nn.Module:  # holds no handler, so that all it holds is freed with it at once
            made = constructor(*args, **kwargs)
            if not isinstance(made, nn.Module):
                kind = type(made).__qualname__
                raise Refusal(
                    f"`{create.name}(…)` gives an object of type `{kind}`, not an `nn.Module`"
                )
            return made if home == packing.CPU else made.to(home)

        made = make()
        self.kept.objects[create.handle] = made
        self.kept.makers[create.handle] = make
        parameters = registered.parameters(made)
        first = {id(p): name for name, p in reversed(parameters.items())}
        with no_overrides():
            shapes = {name: tuple(shape_of(p)) for name, p in parameters.items()}
        specs = [
            responses.ParameterSpec(
                name=name,
                shape=shapes[name],
                value=values.encode(p, self.sent) if create.with_values else None,
                same_as=first[id(p)],
                requires_grad=requires_grad_of(p),
            )
            for name, p in parameters.items()
        ]
        return responses.Created(parameters=specs)

    def do_move(self, move: messages.Move, tensors: list[Tensor]) -> responses.Answer:
        """Move a module to a dtype and a device."""
        dtype = None if move.dtype is None else packing.DTYPES[move.dtype]
        module = self.kept.objects[move.handle]
        if move.device != "meta":
            module.to(device=move.device, dtype=dtype)
            return responses.Done()
        was = {name: value.detach().clone() for name, value in registered.tensors(module).items()}
        with self.kept.other_devices.setdefault(move.handle, SimulatedDevice(self.home)) as other:
            module.to(device="meta", dtype=dtype)
        for name, value in registered.tensors(module).items():
            if name in was and value.shape == was[name].shape:
                other.pair(value, was[name].to(value.dtype))
        return responses.Done()

    def do_renew(self, renew: messages.Renew, tensors: list[Tensor]) -> responses.Answer:
        """Replace a module by a newly constructed one that loads the old one's state."""
        module = self.kept.objects[renew.handle]
        made = self.kept.makers[renew.handle]().train(module.training)
        made.load_state_dict(module.state_dict())
        self.kept.objects[renew.handle] = made
        return responses.Done()

    def do_call(self, call: messages.Call, tensors: list[Tensor]) -> responses.Answer:
        """Call a module, a method of it, or a function; keep the results if asked to."""
        module = None if isinstance(call.target, str) else self.kept.objects[call.target]
        function, parameters = self._callable(call, module)
        other = self._other_device(call, tensors)
        if call.functional_weights:
            function = lend_weights(function, parameters, call.weights, tensors)
        self._prepare(call, module, parameters, tensors, other)
        inputs = tensors[: len(tensors) - len(call.weights)]
        watched = WatchedCalls(call, module, function, parameters, inputs, other)
        results, trees = watched.make(self._decode, self.sent)
        called = watched.describe(results, trees, self.sent)
        if call.results_handle is not None:
            self.kept.objects[call.results_handle] = results
            if call.gradients and any(called.grads):
                self.kept.graphs[call.results_handle] = watched.graph
        del results  # or it would keep alive what the submission's code is to free below
        watched.describe_side_effects(called, self.sent)
        return called

    def _other_device(self, call: messages.Call, tensors: list[Tensor]) -> SimulatedDevice | None:
        """Return what plays the other device of a call; None for a call on the worker's own."""
        if not (call.use_other_device or any(x.device.type == "meta" for x in tensors)):
            return None
        if isinstance(call.target, str):
            return SimulatedDevice(self.home)
        return self.kept.other_devices.setdefault(call.target, SimulatedDevice(self.home))

    def _prepare(
        self,
        call: messages.Call,
        module: Any,
        parameters: dict[str, Tensor],
        tensors: list[Tensor],
        other: SimulatedDevice | None,
    ) -> None:
        """Set weights, training mode and frozen parameters before a call."""
        if not call.functional_weights:
            set_weights(parameters, call.weights, tensors)
        if other is not None:
            for name, index in call.weights.items():
                other.pair(parameters[name], tensors[index].to(parameters[name].dtype))
        if call.mode is not None:  # after the weights, which a module may fold when its mode is set
            with other or nullcontext():
                module.train(call.mode)
        for name in call.frozen:
            parameters[name].requires_grad_(False)

    def do_backward(self, backward: messages.Backward, tensors: list[Tensor]) -> responses.Answer:
        """Compute gradients of calls that were kept."""
        graph = self.kept.graphs.get(backward.handle)
        pairs = [
            (out, grad)
            for path, grad in zip(backward.outputs, tensors, strict=True)
            if isinstance(out := self.kept.output(backward.handle, path), Tensor)
            and out.requires_grad
        ]
        if graph is None or not pairs:
            return responses.Gradients(result=None)
        found = graph.backward(pairs, backward.way)
        answer = responses.Gradients(result=values.encode(found, self.sent))
        answer.inputs = [packing.digest(x) for x in graph.watched]
        if graph.side_effects is not None:
            answer.side_effects = graph.side_effects.describe_backward()
        return answer

    def _decode(self, tree: Any, tensors: list[Tensor]) -> Any:
        return values.decode(tree, tensors, self.kept.find, self.generators, self.home)

    def _global(self, name: str) -> Any:
        """Return what the file defines under a name, which may be dotted: ``Function.apply``."""
        found: Any = self.module
        for part in name.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                raise Refusal(f"the file defines no `{name}`") from None
        return found

    def _callable(self, call: messages.Call, module: Any) -> tuple[Any, dict[str, Tensor]]:
        """Return what a call has to call, and the parameters of its module by name."""
        if isinstance(call.target, str):
            return self._global(call.target), {}
        if not call.method:
            return module, registered.parameters(module)
        if not hasattr(module, call.method):
            raise Refusal(f"`{type(module).__qualname__}` has no method `{call.method}`")
        return getattr(module, call.method), registered.parameters(module)


def _encoded(answer: responses.Answer) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(answer))
