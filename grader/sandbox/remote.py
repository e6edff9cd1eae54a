"""The trusted side's view of a submission: modules and functions that live in a worker."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import msgspec
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from grader.report import Fault, Frame, TensorLocal
from grader.sandbox.process import Sandbox, Worker, WorkerEnded, WorkerTimeout
from grader.sandbox.wire import values
from grader.sandbox.wire.frames import BadFrame
from grader.submission import Submission

_T = TypeVar("_T")
MAX_NAME, MAX_DEPTH = 500, 32  # of a parameter, in characters and dots


class SubmissionError(Exception):
    """The submission raised an exception.

    Attributes:
        fault: The exception as data.
        kinds: The names of its type and of the bases of that.
        own: Whether the submission itself raised it, and not something that it called.
        todo: Whether it is the submission's own ``NotImplementedError``.
    """

    def __init__(self, fault: Fault, kinds: tuple[str, ...] = (), own: bool = False) -> None:
        super().__init__(f"{fault.type}: {fault.message}")
        self.fault = fault
        self.kinds = kinds
        self.own = own
        self.todo = own and "NotImplementedError" in kinds


class SubmissionRefused(Exception):
    """The submission is not of the shape that a request needs; the text is for the learner."""


class _Fault(msgspec.Struct):
    type: str
    kinds: list[str]
    message: str
    frames: list[Frame]
    tensors: list[TensorLocal]
    raised_here: bool


class RemoteSubmission:
    """A submission in a worker: a fresh one after a time-out or a crash.

    What it does to its inputs is told in ``changed``, and happens to copies: nothing that a check
    holds is ever changed by a submission.

    Args:
        sandbox: Gives out the workers.
        submission: What is loaded into them.
        timeout: Wall-clock limit of one check, loading included, in seconds.
        budget: Wall-clock limit of all checks together, in seconds.
    """

    def __init__(
        self, sandbox: Sandbox, submission: Submission, timeout: float, budget: float
    ) -> None:
        self._sandbox = sandbox
        self._submission = submission
        self._timeout = timeout
        self._left = budget
        self._worker: Worker | None = None
        self._loading = False
        self._load_error: Exception | None = None
        self._deadline = 0.0
        self._drop: list[int] = []
        self._seed: int | None = None  # not yet sent
        self.changed: list[int] = []  # positions of the tensors that the last call changed

    def start(self) -> None:
        """Ask for a worker and send it the source; the answer is taken when it is needed."""
        self._worker = self._sandbox.worker()  # the first waits until the template is up
        self._deadline = time.monotonic() + self._timeout
        self._drop = []
        self._loading = True
        header = {"do": "load", "source": self._submission.source, "filename": self.name}
        self._worker.send(header, deadline=self._deadline)

    def refuse(self, reason: Exception) -> None:
        """Try no check of this submission: each will raise ``reason``."""
        self._load_error = reason

    @property
    def name(self) -> str:
        """The file's name in tracebacks."""
        return self._submission.name

    def load(self) -> None:
        """Wait until the source has run; a source that failed is not tried again.

        Raises:
            SubmissionError: It raised an exception.
            WorkerEnded: It crashed, exited or took too long.
        """
        if self._load_error is not None:
            raise self._load_error
        if self._worker is None or not self._worker.alive:
            self.start()
        if self._loading:
            self._loading = False
            try:
                self._answer()
            except (SubmissionError, WorkerEnded) as error:
                self._load_error = error
                raise

    def begin_check(self, seed: int) -> None:
        """Start the clock of a check, with a living worker whose random numbers are seeded.

        Raises:
            SubmissionError: The source raised an exception when it was loaded.
            WorkerEnded: It crashed, exited or took too long, or no time is left for this check.
        """
        if self._left <= 0:
            raise WorkerTimeout("was not tried: earlier checks took all the time there is")
        self._deadline = time.monotonic() + min(self._timeout, self._left)
        self.load()
        self.seed(seed)

    def end_check(self, seconds: float) -> str:
        """Stop the clock of a check; what the submission printed in it."""
        self._left -= seconds
        return self.take_output()

    def take_output(self) -> str:
        """What the submission printed since the last time."""
        return self._worker.take_output() if self._worker else ""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()

    def seed(self, seed: int) -> None:
        """Seed torch's random numbers in the worker, with the next request."""
        self._seed = seed

    def create(self, name: str, *args: Any, **kwargs: Any) -> RemoteModule:
        """Construct a module of the submission.

        Args:
            name: Its class.
            args: Of the constructor.
            kwargs: Of the constructor.

        Raises:
            SubmissionError: The constructor raised an exception.
            SubmissionRefused: There is no such class, or it is no ``nn.Module``.
        """
        tensors: list[Tensor] = []
        trees = {"args": values.encode(args, tensors), "kwargs": values.encode(kwargs, tensors)}
        answer, sent = self.request({"do": "create", "name": name, **trees}, tensors)
        return RemoteModule(self, name, answer, sent)

    def function(self, name: str) -> RemoteFunction:
        """A plain function of the submission."""
        return RemoteFunction(self, name)

    def request(
        self, header: dict[str, Any], tensors: Sequence[Tensor] = ()
    ) -> tuple[dict[str, Any], list[Tensor]]:
        """Send a request and take its answer.

        Raises:
            SubmissionError: The submission raised an exception.
            SubmissionRefused: It is not of the shape that the request needs.
            WorkerEnded: It crashed, exited, took too long, or answered nonsense.
        """
        if self._worker is None or not self._worker.alive:
            raise WorkerEnded("had already ended")
        specs, body = values.dump_tensors(list(tensors), strided=True)
        header = {**header, "tensors": specs}
        if self._seed is not None:
            header["seed"], self._seed = self._seed, None
        if self._drop:
            header["drop"], self._drop = self._drop, []
        self._worker.send(header, body, self._deadline)
        return self._answer()

    def forget(self, number: int, worker: Worker) -> None:
        """Let an object of a worker go, with the next request to that worker."""
        if worker is self._worker:
            self._drop.append(number)

    @property
    def worker(self) -> Worker:
        """The worker that the last request went to."""
        assert self._worker is not None
        return self._worker

    def _answer(self) -> tuple[dict[str, Any], list[Tensor]]:
        header, body = self.worker.receive(self._deadline)
        try:
            if "refused" in header:
                raise SubmissionRefused(str(header["refused"])[:1000])
            if "fault" in header:
                raise _error(msgspec.convert(header["fault"], _Fault))
            return header, values.load_tensors(header.pop("tensors", []), body)
        except (BadFrame, msgspec.ValidationError) as problem:
            raise self.worker.distrust(str(problem)) from None

    def believe(self, build: Callable[[], _T]) -> _T:
        """Take an answer apart; a worker whose answer has another form is ended.

        Raises:
            WorkerEnded: The answer had another form.
        """
        try:
            return build()
        except Exception as problem:  # an answer that was made to break us may do it in any way
            raise self.worker.distrust(f"{type(problem).__name__}: {problem}"[:200]) from None


def _error(fault: _Fault) -> SubmissionError:
    """The error to raise for a fault, cut to what a person reads."""
    frames = tuple(
        Frame(f.file[:200], f.line, f.function[:200], f.source[:200]) for f in fault.frames[:10]
    )
    tensors = tuple(
        TensorLocal(t.name[:100], t.shape[:16], t.dtype[:20], t.device[:20])
        for t in fault.tensors[:12]
    )
    plain = Fault(fault.type[:200], fault.message[:2000], frames, tensors)
    return SubmissionError(plain, tuple(fault.kinds), fault.raised_here)


class _Call:
    """One call on its way: what is sent, and what came back beside tensors."""

    def __init__(self, submission: RemoteSubmission, header: dict[str, Any]) -> None:
        self.submission = submission
        self.header = header
        self.inputs: list[Tensor] = []
        self.parameters: list[Tensor] = []
        self.changed_parameters: list[Tensor] = []
        self.tree: Any = None

    def run(self) -> tuple[list[Tensor], list[bool], int | None]:
        """The outputs, whether each carries a gradient, and the number of their graph."""
        tensors = [*self.inputs, *self.changed_parameters]
        answer, sent = self.submission.request(self.header, tensors)
        return self.submission.believe(lambda: self._take(answer, sent))

    def _take(
        self, answer: dict[str, Any], sent: list[Tensor]
    ) -> tuple[list[Tensor], list[bool], int | None]:
        self.submission.changed = [int(position) for position in answer["changed"]]
        self.tree = answer["result"]
        grads = [bool(grad) for grad in answer["grad"]]
        outputs = sent[: len(grads)]
        values.decode(self.tree, outputs)  # its form, before anybody relies on it
        if len(outputs) < len(grads) or any(
            grad and not out.is_floating_point() for out, grad in zip(outputs, grads, strict=True)
        ):
            raise ValueError("outputs and gradients do not agree")
        return outputs, grads, int(answer["graph"]) if any(grads) else None


class _Remote(torch.autograd.Function):
    """Forward and backward in the worker."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Run the call; ``tensors`` are what a gradient may be wanted of."""
        outputs, grads, graph = call.run()
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *(out for out, grad in zip(outputs, grads, strict=True) if not grad)
        )
        ctx.call, ctx.grads, ctx.graph = call, grads, graph
        ctx.shapes = [out.detach() for out, grad in zip(outputs, grads, strict=True) if grad]
        ctx.forms = [(x.shape, x.dtype, x.device) for x in tensors]
        ctx.worker = call.submission.worker
        if graph is not None:
            weakref.finalize(ctx, call.submission.forget, graph, ctx.worker)
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        """Gradients of the inputs and parameters, None where the submission gives none."""
        submission = ctx.call.submission
        if submission.worker is not ctx.worker:
            raise WorkerEnded("had already ended")
        wanted = [g for g, grad in zip(grad_outputs, ctx.grads, strict=True) if grad]
        filled = [
            torch.zeros_like(out) if g is None else g
            for g, out in zip(wanted, ctx.shapes, strict=True)
        ]
        answer, sent = submission.request({"do": "backward", "graph": ctx.graph}, filled)
        grads: list[Tensor | None] = submission.believe(
            lambda: _gradients(answer["result"], sent, ctx.forms)
        )
        return (None, *grads)


def _gradients(tree: Any, sent: list[Tensor], forms: list[Any]) -> list[Tensor | None]:
    """Gradients as they came, each of the form of its input."""
    grads = values.decode(tree, sent)
    if not isinstance(grads, list) or len(grads) != len(forms):
        raise ValueError("gradients are not those of the inputs")
    for grad, form in zip(grads, forms, strict=True):
        if grad is not None and (grad.shape, grad.dtype, grad.device) != form:
            raise ValueError("a gradient has not the form of its input")
    return grads


class _Callable:
    """What can be called in a worker."""

    def __init__(self, submission: RemoteSubmission, target: int | str, method: str = "") -> None:
        self.submission = submission
        self.target = target
        self.method = method

    def call(
        self,
        args: Any,
        kwargs: Any,
        learned: Mapping[str, Tensor],
        stale: list[str],
        mode: bool | None = None,
    ) -> Any:
        """Call with gradients, as if it ran here."""
        tensors: list[Tensor] = []
        trees = {"args": values.encode(args, tensors), "kwargs": values.encode(kwargs, tensors)}
        once: dict[int, str] = {}  # a tied parameter only under its first name
        for name, parameter in learned.items():
            if parameter.requires_grad:
                once.setdefault(id(parameter), name)
        names = list(once.values())
        inputs = [x for x in tensors if x.requires_grad]
        grad = torch.is_grad_enabled() and bool(inputs or names)
        header = {
            "do": "call",
            "target": self.target,
            "method": self.method,
            **trees,
            "parameters": {name: len(tensors) + i for i, name in enumerate(stale)},
            "learned": names,
            "mode": mode,
            "grad": grad,
        }
        call = _Call(self.submission, header)
        call.inputs = tensors
        call.changed_parameters = [learned[name].detach() for name in stale]
        if grad:
            outputs = list(_Remote.apply(call, *inputs, *(learned[name] for name in names)))
        else:
            outputs, _, _ = call.run()
        return values.decode(call.tree, outputs)


class RemoteFunction(_Callable):
    """A plain function of a submission, called as if it were here."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; tensors among the arguments may carry gradients."""
        return self.call(args, kwargs, {}, [])


class RemoteModule(nn.Module):
    """A module of a submission: parameters here, ``forward`` and ``backward`` in the worker.

    The parameters here are the truth: a call sends those that changed since the last one.
    ``state_dict``, ``load_state_dict``, ``to``, ``train``, ``eval`` and ``torch.func`` work as on
    any module; tied parameters stay tied. Double backward is not supported.
    """

    def __init__(
        self, submission: RemoteSubmission, name: str, answer: dict[str, Any], sent: list[Tensor]
    ) -> None:
        super().__init__()
        self._name = name
        self._submission = submission
        self._number = submission.believe(lambda: int(answer["object"]))
        self._worker = submission.worker
        weakref.finalize(self, submission.forget, self._number, self._worker)
        self._known: dict[str, Tensor] = {}
        submission.believe(lambda: self._mirror(answer["parameters"], sent))
        self.training = submission.believe(lambda: bool(answer["training"]))
        self._told = True  # whether the worker knows the mode

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the submission's module."""
        return self._call("", args, kwargs)

    def method(self, name: str) -> Callable[..., Any]:
        """Another method of the submission's module, by name."""
        return lambda *args, **kwargs: self._call(name, args, kwargs)

    def train(self, mode: bool = True) -> Self:
        """Switch between training and evaluation; the worker is told with the next call."""
        self._told = False
        return super().train(mode)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Self:
        """Move here and in the worker; ``to``, ``double``, ``cuda`` and so on come through here."""
        super()._apply(fn, recurse)
        probe = fn(next(self.parameters(), torch.empty(0)).detach())
        dtype = str(probe.dtype).removeprefix("torch.")
        where = {"dtype": dtype, "device": str(probe.device)}
        self._check_worker()
        self._submission.request({"do": "move", "target": self._number, **where})
        self._known = {}
        return self

    def _call(self, method: str, args: Any, kwargs: Any) -> Any:
        self._check_worker()
        learned = dict(self.named_parameters(remove_duplicate=False))
        stale = [n for n, p in learned.items() if not _equal(p, self._known.get(n))]
        mode = None if self._told else self.training
        result = _Callable(self._submission, self._number, method).call(
            args, kwargs, learned, stale, mode
        )
        self._told = True
        self._known.update({name: learned[name].detach().clone() for name in stale})
        return result

    def _check_worker(self) -> None:
        if self._submission.worker is not self._worker or not self._worker.alive:
            raise WorkerEnded("had already ended")

    def _mirror(self, descriptions: list[dict[str, Any]], sent: list[Tensor]) -> None:
        made: dict[str, nn.Parameter] = {}
        for entry in descriptions:
            name, first = str(entry["name"]), str(entry["same_as"])
            if len(name) > MAX_NAME or name.count(".") > MAX_DEPTH:
                raise ValueError("a parameter has a name of no sensible length")
            if first not in made:
                value = values.decode(entry["value"], sent)
                made[first] = nn.Parameter(value, requires_grad=bool(entry["requires_grad"]))
                self._known[first] = value.clone()
            self._known[name] = self._known[first]
            *path, leaf = name.split(".")
            owner: nn.Module = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, nn.Module())
                owner = owner.get_submodule(part)
            owner.register_parameter(leaf, made[first])


def _equal(now: Tensor, known: Tensor | None) -> bool:
    return (
        known is not None
        and now.shape == known.shape
        and now.dtype == known.dtype
        and now.device == known.device
        and (now.device.type == "meta" or torch.equal(now, known))
    )
