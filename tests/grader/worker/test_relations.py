"""What only the worker knows is found out, whatever a file has put in the place of torch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.session import Session
from grader.wire.messages import CopyCriteria

Begin = Callable[[str], Session]
UNENTERED = """
def enter(self):
    self.seen = 1
    return self

base.__enter__, base.__exit__ = enter, lambda self, *exception: None
"""
# Each makes at least one of the relations below seem to hold, or did so once.
TRICKS = {
    "none": "",
    "storages have no size": "torch.UntypedStorage.nbytes = lambda self: 0",
    "no tensor is strided": "torch.strided = None",
    "sums of NumPy": ("import numpy\nnumpy._core._methods._sum = lambda *given, **how: 0"),
    "nothing is finite": "Tensor.isfinite = lambda self: self != self",
    "nothing is a float": "Tensor.is_floating_point = lambda self: False",
    "numbers are none": "Tensor.double = lambda self: torch.zeros(0)",
    "a clone is the same": "Tensor.clone = Tensor.detach = lambda self, **how: self",
    "NaN is anything": "Tensor.nan_to_num = lambda self, **how: torch.zeros(())",
    "all lies on the CPU": "Tensor.device = property(lambda self: torch.device('cpu'))",
    "nobody learns": "Tensor.requires_grad = property(lambda self: False)",
    "parts of no module": "nn.Module.modules = lambda self: iter(())",
    "nothing is saved": "nn.Module.state_dict = lambda self: {}",
    "hooks of its own": (
        "around = lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)"
    ),
    "a generator of its own": "torch.random.default_generator = torch.Generator()",
    "no modes": "around = modes._disable_current_modes",
    "no dispatch": "around = torch._C._DisableTorchDispatch",
    "no mode is entered": f"base = modes.TorchDispatchMode\n{UNENTERED}",
    "no function mode is entered": f"base = torch.overrides.TorchFunctionMode\n{UNENTERED}",
    "no hooks are entered": f"base = torch.autograd.graph.saved_tensors_hooks\n{UNENTERED}",
    "a mode that has seen something": (
        "modes.TorchDispatchMode.__getattribute__ = lambda self, name: (\n"
        "    1 if name in ('seen', 'most', 'made') else object.__getattribute__(self, name)\n)"
    ),
    "a mode that is made another": (
        "modes.TorchDispatchMode.__init__ = lambda self: setattr(\n"
        "    self, 'meet', lambda func, args, kwargs: func(*args, **kwargs)\n)"
    ),
    "a class that learns nothing": "class Liar(Tensor):\n    requires_grad = False",
    "a class without a storage": (
        "class Liar(Tensor):\n"
        "    def untyped_storage(self):\n        return torch.zeros(1).untyped_storage()"
    ),
    "a module that is no method's": "nn.Module.__self__ = None",
    "methods that are none": (
        "class Module(nn.Module):\n"
        "    def __getattribute__(self, name):\n"
        "        found = super().__getattribute__(name)\n"
        "        return (lambda *given: found(*given)) if callable(found) else found"
    ),
    "attributes of its own": (
        "class Module(nn.Module):\n"
        "    own = vars(nn.Module)['__dict__'].__get__\n"
        "    __dict__ = property(lambda self: {**Module.own(self), '_buffers': {}, 'training': 1})"
    ),
    "attributes in a dict of its own": (
        "class Attributes(dict):\n"
        "    def get(self, name):\n"
        "        return {'_buffers': {}, 'training': 1}.get(name, self[name])\n"
        "class Module(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.__dict__ = Attributes(self.__dict__)"
    ),
    "no context is entered": (
        "contextlib.ExitStack.enter_context = lambda self, one: setattr(one, 'seen', 1)"
    ),
    "any device is another": (
        "torch.device = type('Any', (), {'__init__': lambda self, where: None, 'type': 'meta'})"
    ),
    "any operation is another": "torch._ops.OpOverload.overloadpacket = torch.ops.aten.copy_",
    "a hook that empties what is told": (
        "import sys\n"
        "def empty(frame, event, arg):\n"
        "    if event == 'return' and type(arg) is list:\n        arg.clear()\n"
        "sys.setprofile(empty)"
    ),
    "kernels that say yes": (
        "with contextlib.suppress(RuntimeError):  # refused\n"
        "    library = torch.library.Library('aten', 'IMPL')\n"
        "    library.impl('equal', lambda one, other: True, 'CPU')"
    ),
    "Python before the kernels": (
        "torch.ops.aten.equal.default.py_impl(torch.DispatchKey.CPU)(lambda one, other: True)\n"
        "held = torch._C._EnablePythonDispatcher()\n"
        "held.__enter__()"
    ),
    "a mode that says what it likes": (
        "from torch.overrides import TorchFunctionMode\n"
        "class Liar(TorchFunctionMode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n"
        "        result = func(*args, **(kwargs or {}))\n"
        "        return False if result is True else result\n"
        "Liar().__enter__()"
    ),
}
SOURCE = """
import contextlib

import torch
from torch import Tensor, nn
from torch.utils import _python_dispatch as modes

around, Module = contextlib.nullcontext, nn.Module
{trick}

class Layer(Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.weight.grad = torch.ones(3)

{methods}
"""
METHOD = """
    def {name}(self, x):
        with around():
            y = x * self.weight
            {body}
            return y{ending}
"""
Found = Any  # the results of a call
# By name: what is wrong, how it is asked, and whether it is found.
RELATIONS: dict[str, tuple[str, dict[str, Any], Callable[[Found], bool]]] = {
    "copies": (
        "x.repeat(4, 1) + 0.5",
        {"copies": CopyCriteria(times=4, least=8, most=40)},
        lambda found: found.copied == 12,
    ),
    "makes": (
        "[torch.zeros(1000) + 1 for _ in range(3)]",
        {"report_counts": True},
        lambda found: found.made > 3000,
    ),
    "saves": ("y = y.exp()", {"report_counts": True}, lambda found: found.saved > 0),
    "keeps": (
        "y = y.repeat(100, 1)[:4]",
        {"report_storage": True},
        lambda found: found.storage_nbytes == [4800],
    ),
    "changes": ("x.data.mul_(-1)", {"detect_inplace": True}, lambda found: found.changed == [0]),
    "learns": ("y = (x @ torch.ones(3, 3)).requires_grad_()", {}, lambda found: found.grads[0]),
    **{
        name: (body, {"detect_inplace": True}, lambda found: found.side_effects)
        for name, body in {
            "other_values": "self.weight.data.mul_(1.5)",
            "freezes": "self.weight.requires_grad_(False)",
            "gathers": "self.weight.grad = torch.ones(3)",
            "asks": "x.requires_grad_(True)",
            "forgets": "self.weight.grad.zero_()",
            "adds": "self.register_buffer('seen', torch.ones(1))",
            "switches": "self.train(not self.training)",
            "switches_to_anything": "from unittest import mock; self.training = mock.ANY",
            "seeds": "torch._C.default_generator.manual_seed(0)",
        }.items()
    },
    "mixes": ("y = y @ torch.eye(3)", {"use_other_device": True}, lambda found: False),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_what_a_call_does_is_seen(begin: Begin, trick: str) -> None:
    ending = ".as_subclass(Liar)" if "Liar(Tensor)" in TRICKS[trick] else ""
    methods = "".join(
        METHOD.format(name=name, body=body, ending=ending) for name, (body, *_) in RELATIONS.items()
    )
    batch = begin(SOURCE.format(trick=TRICKS[trick], methods=methods)).batch()
    calls = {}
    for name, (_, how, _) in RELATIONS.items():
        with batch.apart():
            made, x = batch.create("Layer"), torch.arange(12.0).reshape(4, 3) + 1.1
            if "use_other_device" in how:
                batch.move(made, device="meta")
            calls[name] = batch.call(made, [((x,), {})], method=name, **how)
    batch.send()
    unseen = [name for name, call in calls.items() if not _is_seen(call, RELATIONS[name][2])]
    assert not unseen


def _is_seen(call: Any, found: Callable[[Found], bool]) -> bool:
    try:
        return bool(found(call.results))
    except (SubmissionError, SubmissionRefused):  # that loses the check, too
        return True


def test_settings_of_a_call_hold(begin: Begin) -> None:
    """Whatever a file has put in the place of what makes them."""
    source = """
import contextlib

import torch
from torch import nn

torch.inference_mode = torch.set_grad_enabled = lambda *given: contextlib.nullcontext()
torch.func.functional_call = lambda module, weights, args, kwargs: args[0] * 0

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        x = x * self.weight.detach() + 10 * torch.is_grad_enabled()
        return x + 100 * torch.is_inference_mode_enabled()
"""
    batch = begin(source).batch()
    how: list[dict[str, Any]] = [
        {},
        {"inference": True},
        {"grad_parameters": []},
        {"weights": {"weight": torch.full((3,), 2.0)}, "functional_weights": True},
    ]
    made = batch.create("Layer")
    calls = [batch.call(made, [((torch.ones(3),), {})], **one) for one in how]
    batch.send()
    assert [call.result().tolist()[0] for call in calls] == [1, 101, 11, 2]


def test_who_has_nothing_to_do_hides_nothing(begin: Begin) -> None:
    """An input that is given back, and what NumPy makes, come of no operation."""
    source = (
        "import numpy, torch\n"
        "def same(x):\n    return x\n"
        "def double(x):\n    return torch.from_numpy(2 * x.numpy())\n"
    )
    batch = begin(source).batch()
    how: list[dict[str, Any]] = [
        {"copies": RELATIONS["copies"][1]["copies"]},
        {"report_counts": True},
    ]
    calls = [
        batch.call(name, [((torch.ones(3),), {})], **one)
        for name in ("same", "double")
        for one in how
    ]
    calls.append(batch.call("same", [((torch.ones(3),), {})], use_other_device=True))
    batch.send()
    assert [call.result().tolist()[0] for call in calls] == [1, 1, 2, 2, 1]


LATE = {  # each changes its input only after a call
    "as the answer is read": """
class Late(torch.Tensor):
    @staticmethod
    def __new__(cls, x, y):
        return torch.Tensor._make_wrapper_subclass(cls, y.shape, dtype=y.dtype)

    def __init__(self, x, y):
        self.x, self.y = x, y

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = [one.had() if isinstance(one, Late) else one for one in args]
        return func(*args, **(kwargs or {}))

    def had(self):
        self.x.detach().numpy()[...] = 0
        return self.y

def f(x):
    return Late(x, 2 * x)
""",
    "as the answer goes": """
class Late:
    def __init__(self, x):
        self.x = x

    def __del__(self):
        self.x.zero_()

def f(x):
    y = 2 * x
    y.late = Late(x)
    return y
""",
    "as bytes are read": """
import ctypes
read, inputs = ctypes._string_at, []

def late(*given):
    for x in inputs:
        x.zero_()
    return read(*given)

def f(x):
    inputs.append(x)
    ctypes._string_at = late
    return 2 * x
""",
}


@pytest.mark.parametrize("when", LATE)
def test_input_is_not_changed_unseen_after_a_call(begin: Begin, when: str) -> None:
    batch = begin(f"import torch\n{LATE[when]}").batch()
    once, twice = (batch.call("f", [((torch.ones(3),), {})], detect_inplace=True) for _ in range(2))
    batch.send()
    assert [call.result().tolist() for call in (once, twice)] == [[2] * 3] * 2
    is_seen = once.results.changed == [0]
    assert is_seen or when == "as bytes are read"  # which are read by nothing of Python's


KEEPING = {  # each keeps 4,000 bytes alive beside its own 12
    "a class that has no attributes": """
class Own(torch.Tensor):
    __dict__ = property(lambda self: {})

def f(x):
    y = (2 * x).as_subclass(Own)
    y.whole = [torch.ones(1000)]
    return y
""",
    "attributes of no values": """
class Attributes(dict):
    values = lambda self: ()

def f(x):
    y = 2 * x
    y.__dict__ = Attributes(whole=torch.ones(1000))
    return y
""",
    "a tuple that is another each time": """
class Parts(tuple):
    asked = 0

    def __iter__(self):
        self.asked += 1
        return iter([self[0] if self.asked == 1 else self[0].clone()])

def f(x):
    return Parts([torch.cat([2 * x, torch.ones(1000)])[:3]])
""",
}


@pytest.mark.parametrize("how", KEEPING)
def test_memory_that_an_output_keeps_is_counted(begin: Begin, how: str) -> None:
    batch = begin(f"import torch\n{KEEPING[how]}").batch()
    call = batch.call("f", [((torch.ones(3),), {})], report_storage=True)
    batch.send()
    assert call.results.storage_nbytes == [4012]


def test_parameters_have_the_names_that_they_are_kept_by(begin: Begin) -> None:
    source = """
import torch

class Name(str):
    __format__ = lambda self, how: "weight"

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter(Name("w"), torch.nn.Parameter(torch.ones(3)))
"""
    batch = begin(source).batch()
    made = batch.create("Layer")
    batch.send()
    assert list(made.parameters) == ["w"]
