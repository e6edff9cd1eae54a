"""A failed comparison as a script to step through: it needs torch and the learner's file alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from grader.diagnosis.replay import AskedStep
from grader.outputs.tensor_text import PACKED_SOURCE, STRIDED_SOURCE, tensor_text
from grader.suite.case import Case
from grader.wire import messages, packing

SCRIPT_HEAD = '''"""{title}

It needs torch alone, calls your file as the check did, and ends where the check failed. To step
through it: `python -m pdb` and this file's name, or a breakpoint in an editor.
"""

import importlib.util
{imports}
import torch

FILE = {file!r}
{names}{functions}

spec = importlib.util.spec_from_file_location("submission", FILE)
submission = importlib.util.module_from_spec(spec)
spec.loader.exec_module(submission)

'''
SET_WEIGHTS_SOURCE = '''
def set_weights(module, weights):
    """Give parameters new values, by name."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value)
'''
TOTALS = {  # the sum whose gradients are taken, by ``Backward.way``; other ways sum out * grad
    "transposed": "({out}.mT * {grad}.mT.contiguous()).sum()",
    "residual": "(({out} + {first}) * {grad}).sum()",
}


def case_script(case: Case, exercise: str, file: Path, seed: int) -> str:
    """Return the script that repeats a failed comparison, with the steps that led to it."""
    body = "\n".join(_Writer(case).lines())
    names = "".join(f'{name} = float("{name}")\n' for name in ("inf", "nan") if name in body)
    used = [
        text
        for text in (PACKED_SOURCE, STRIDED_SOURCE, SET_WEIGHTS_SOURCE)
        if f"{_function_name(text)}(" in body
    ]
    head = SCRIPT_HEAD.format(
        title=f"`{exercise}`, check `{case.check}`, seed {seed}: {case.comparison.what} is wrong.",
        imports="import base64\nimport zlib\n" if PACKED_SOURCE in used else "",
        file=str(file.resolve()),
        names=names,
        functions="".join(f"\n{text}" for text in used),
    )
    return f"{head}{body}\n"


def _function_name(function: str) -> str:
    return function.partition("def ")[2].partition("(")[0]


class _Writer:
    """A writer of the steps of a case as Python, as a person would write them."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._names: set[str] = set()
        self._modules: dict[int, str] = {}
        self._made: dict[int, str] = {}  # the expression that makes each module, by handle
        self._outputs: dict[tuple[int, int], str] = {}  # name of each output, by handle and call
        self._sources: dict[int, str] = {}  # name of the list of learning tensors, by handle
        self._learning: dict[int, list[int]] = {}  # their indices among all sources
        self._weights_name = ""  # of the last call
        self._last: dict[int, str] = {}  # the last step's results, by index

    def lines(self) -> Iterator[str]:
        """Yield the lines of Python, from the first step to the assert."""
        for asked in self._case.steps:
            if asked.step.seed is not None:
                yield f"torch.manual_seed({asked.step.seed})"
            yield from self._step(asked)
            yield ""
        comparison, (place, *path) = self._case.comparison, self._case.path
        assert isinstance(place, int)
        part = ", ".join(f"{one.start}:{one.stop}" for one in self._case.part)
        found = self._last[place] + _indices(path) + (f"[{part}]" if part else "")
        yield f"got = {found}.detach().double().cpu()"
        yield f"expected = {tensor_text(comparison.expected)}"
        yield f"torch.testing.assert_close(got, expected, rtol=0, atol={comparison.allowed:.3g})"

    def _step(self, asked: AskedStep) -> Iterator[str]:
        tensors = packing.load_tensors(asked.step.tensors, asked.body, True)
        match asked.step.operation:
            case messages.Create() as create:
                yield from self._create(create, tensors)
            case messages.Move() as move:
                given = [f"torch.{move.dtype}"] if move.dtype else []
                given += [repr(move.device)] if move.device else []
                yield f"{self._modules[move.handle]}.to({', '.join(given)})"
            case messages.Renew(handle=handle):
                old, new = self._modules[handle], self._new("module")
                yield f"{new} = {self._made[handle]}.train({old}.training)"
                yield f"{new}.load_state_dict({old}.state_dict())"
                self._modules[handle] = new
            case messages.Call() as call:
                yield from self._call(call, tensors)
            case messages.Backward() as backward:
                yield from self._backward(backward, tensors)

    def _create(self, create: messages.Create, tensors: list[Tensor]) -> Iterator[str]:
        texts = [tensor_text(one) for one in tensors]
        module = self._modules[create.handle] = self._new("module")
        given = self._arguments(create.args, create.kwargs, texts)
        self._made[create.handle] = f"submission.{create.name}({given})"
        yield f"{module} = {self._made[create.handle]}"

    def _call(self, call: messages.Call, tensors: list[Tensor]) -> Iterator[str]:
        inputs = tensors[: len(tensors) - len(call.weights)]
        names = self._input_names(call, len(inputs))
        target = call.target
        for name, value in zip(names, inputs, strict=True):
            yield f"{name} = {tensor_text(value)}"
        if isinstance(target, int):
            yield from self._prepared(call, self._modules[target], tensors)
        if call.gradients and call.results_handle is not None:
            learned = [n for n, x in zip(names, inputs, strict=True) if x.requires_grad]
            yield from self._sources_of(call, call.results_handle, learned)
        if call.nonleaf_inputs:
            yield from (f"{name} = {name}.view_as({name})" for name in names)
        context = "no_grad" if not call.gradients else ""
        context = "inference_mode" if call.inference else context
        indent = "    " if context else ""
        if context:
            yield f"with torch.{context}():"
        if call.inference:
            yield from (f"{indent}{name} = {name}.clone()" for name in names)
        yield from (indent + line for line in self._each(call, names))

    def _prepared(self, call: messages.Call, module: str, tensors: list[Tensor]) -> Iterator[str]:
        """Yield the lines before a call that set weights, training mode and frozen parameters."""
        if call.weights:
            weights = self._weights_name = self._new("weights")
            yield f"{weights} = {{"
            for name, number in call.weights.items():
                yield f"    {name!r}: {tensor_text(tensors[number])},"
            yield "}"
            if not call.functional_weights:
                yield f"set_weights({module}, {weights})"
        if call.mode is not None:
            yield f"{module}.train({call.mode})"
        for name in call.frozen:
            yield f"{module}.get_parameter({name!r}).requires_grad_(False)"

    def _sources_of(self, call: messages.Call, handle: int, learned: list[str]) -> Iterator[str]:
        """Yield the line before a call that lists the tensors whose gradients may be asked for."""
        module = self._modules[call.target] if isinstance(call.target, int) else ""
        whole = [*learned, *(f"{module}.get_parameter({n!r})" for n in call.grad_parameters)]
        frozen = {f"{module}.get_parameter({name!r})" for name in call.frozen}
        self._sources[handle] = self._new("sources")
        self._learning[handle] = [n for n, source in enumerate(whole) if source not in frozen]
        learning = (whole[n] for n in self._learning[handle])
        yield f"{self._sources[handle]} = [{', '.join(learning)}]"

    def _each(self, call: messages.Call, names: list[str]) -> Iterator[str]:
        """Yield the lines of the calls themselves."""
        function = f"submission.{call.target}"
        if isinstance(call.target, int):
            module = self._modules[call.target]
            function = f"{module}.{call.method}" if call.method else module
        self._last = {}
        size = len(names) // len(call.calls)
        for place, one in enumerate(call.calls):
            if call.refill_inputs and place:
                pairs = zip(names[:size], names[place * size :], strict=False)
                yield from (f"{own}.data.copy_({given})" for own, given in pairs)
                one = call.calls[0]
            output = self._new("output")
            self._last[place] = output
            if call.results_handle is not None:
                self._outputs[call.results_handle, place] = output
            if call.functional_weights:
                given = f"{self._weights_name}, {self._given(one.args, one.kwargs, names)}"
                yield f"{output} = torch.func.functional_call({function}, {given})"
                continue
            yield f"{output} = {function}({self._arguments(one.args, one.kwargs, names)})"

    def _backward(self, backward: messages.Backward, tensors: list[Tensor]) -> Iterator[str]:
        sources = self._sources[backward.handle]
        terms = []
        for (place, *path), value in zip(backward.outputs, tensors, strict=True):
            grad = self._new("grad_output")
            yield f"{grad} = {tensor_text(value)}"
            assert isinstance(place, int)
            out = self._outputs[backward.handle, place] + _indices(path)
            total = TOTALS.get(backward.way, "({out} * {grad}).sum()")
            terms.append(total.format(out=out, grad=grad, first=f"{sources}[0]"))
        total, found = self._new("total"), self._new("gradients")
        yield f"{total} = {' + '.join(terms)}"
        if backward.way == "accumulated":
            yield f"{total}.backward()"
            yield f"{found} = [source.grad for source in {sources}]"
        else:
            keeps = "retain_graph=True, allow_unused=True"
            grads = f"torch.autograd.grad({total}, {sources}, {keeps})"
            yield from [grads] * (backward.way == "again")
            yield f"{found} = {grads}"
        learning = enumerate(self._learning[backward.handle])
        self._last = {place: f"{found}[{n}]" for n, place in learning}

    def _input_names(self, call: messages.Call, count: int) -> list[str]:
        """Return a variable name for each tensor: its input's name, its keyword, or ``given``."""
        names = [""] * count
        for one in call.calls:
            positional = one.args.get("tuple", []) if isinstance(one.args, dict) else []
            by_name = one.kwargs.get("dict", {}) if isinstance(one.kwargs, dict) else {}
            wanted = [*zip(self._case.inputs, positional, strict=False), *by_name.items()]
            for name, tree in wanted:
                if isinstance(tree, dict) and isinstance(number := tree.get("tensor"), int):
                    names[number] = self._new(name)
        return [name or self._new("given") for name in names]

    def _given(self, args: Any, kwargs: Any, tensors: Sequence[str]) -> str:
        """Return Python source: a tuple of the positional arguments, a dict of the others."""
        positional = "".join(f"{self._text(tree, tensors)}, " for tree in args["tuple"])
        return f"({positional}), dict({self._arguments({'tuple': []}, kwargs, tensors)})"

    def _arguments(self, args: Any, kwargs: Any, tensors: Sequence[str]) -> str:
        positional = [self._text(tree, tensors) for tree in args["tuple"]]
        by_name = [f"{name}={self._text(tree, tensors)}" for name, tree in kwargs["dict"].items()]
        return ", ".join([*positional, *by_name])

    def _text(self, tree: Any, tensors: Sequence[str]) -> str:
        """Return the Python expression of an encoded value."""
        if not isinstance(tree, dict):
            return repr(tree)
        ((kind, content),) = tree.items()
        match kind:
            case "float":
                return str(content)  # inf, nan
            case "tensor":
                return tensors[content]
            case "output":
                handle, place, *path = content
                return f"{self._outputs[handle, place]}{_indices(path)}"
            case "dict":
                pairs = (f"{key!r}: {self._text(one, tensors)}" for key, one in content.items())
                return f"{{{', '.join(pairs)}}}"
            case "list":
                return f"[{', '.join(self._text(one, tensors) for one in content)}]"
        return f"({''.join(f'{self._text(one, tensors)}, ' for one in content)})"

    def _new(self, name: str) -> str:
        """Return a variable name that is not taken yet, and reserve it."""
        found, number = name, 1
        while found in self._names:
            number += 1
            found = f"{name}{number}"
        self._names.add(found)
        return found


def _indices(path: Sequence[int | str]) -> str:
    return "".join(f"[{part!r}]" for part in path)
