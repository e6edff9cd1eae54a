"""Takes away what an exercise forbids: a forbidden call is refused, by whatever name it is made."""

from __future__ import annotations

import fnmatch
import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import torch
from torch._C import _dispatch_library  # before a submission can replace it

from grader.wire import messages, responses

# Dispatch keys under which an operation may have a kernel; keys that are derived from these need
# none of their own.
DISPATCH_KEYS = (
    "CompositeImplicitAutograd", "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional", "CPU", "CUDA", "MPS", "Meta", "NestedTensorCPU",
    "NestedTensorCUDA", "FuncTorchBatched", "FuncTorchBatchedDecomposition", "FuncTorchVmapMode",
)  # fmt: skip
# Modules that are left alone: the `Transformer` of `torch.fx` transforms graphs, and torch derives
# classes from it.
UNTOUCHED_MODULES = ("torch.fx", "grader")
UNGUARDED_METHODS = ("__setstate__",)  # Python itself calls them to copy an object
DECOMPOSITION_MODULES = ("torch._decomp", "torch._native", "torch._refs")  # operations in Python
EMPTIED_MODULES = {  # with an attention, or a norm, in plain operations
    "torch.onnx.ops._impl", "torch.testing._internal.distributed._tensor.common_dtensor",
}  # fmt: skip
GENERIC_CLASSES = ("Module", "Sequential")  # of torch; they call whatever they are given


class ForbiddenUse(Exception):
    """The submission called what its exercise forbids."""


class ForbiddenCalls:
    """Takes away what an exercise forbids, in this process, for good.

    Args:
        rules: The rules of the exercise.
        filename: The submission's file name, as it is compiled.

    Attributes:
        broken: The first rule that was broken, even if the submission caught the exception.
    """

    def __init__(self, rules: messages.Rules = messages.NO_RULES, filename: str = "") -> None:
        self.broken: responses.Forbidden | None = None
        self._names = frozenset(rules.forbidden)
        self._operations = rules.operations
        self._filename = filename
        self._modules = 0  # how many were loaded at the last look
        self._seen: set[str] = set()  # names of the modules that were looked at
        self._stand_ins: dict[int, Any] = {}  # by id of the original that each stands for
        self._originals: list[Any] = []
        self._codes: set[CodeType] = set()  # of the originals
        self._libraries: dict[str, Any] = {}  # kept: torch undoes what a freed library did
        self._take_operations(rules.operations)
        if self._names:
            for name in EMPTIED_MODULES & sys.modules.keys():
                vars(sys.modules[name]).clear()
            _hook_torch_imports(self._take)
        self.guard_new_modules()

    def guard_new_modules(self) -> None:
        """Take away what is forbidden in modules that torch has loaded since the last look."""
        if not self._names or len(sys.modules) == self._modules:
            return
        loaded = loaded_modules()
        for name in loaded.keys() - self._seen:
            self._take(name, loaded[name].now)
        self._seen = set(loaded)
        self._modules = len(sys.modules)

    def _take(self, module: str, held: dict[str, Any]) -> None:
        """Replace what is forbidden among the names that a module of torch holds."""
        if module.startswith(DECOMPOSITION_MODULES):
            for name in _matching(held, self._operations):
                original = held[name]
                held[name] = self._instead(original, name)
                _replace_decomposition(original, held[name])
        if not (held.keys().isdisjoint(self._names) or module.startswith(UNTOUCHED_MODULES)):
            for forbidden in self._names & held.keys():
                held[forbidden] = self._instead(held[forbidden], forbidden)

    def _instead(self, value: Any, name: str) -> Any:
        """Return what replaces a forbidden class or function of torch."""
        if id(value) not in self._stand_ins:
            self._originals.append(value)  # kept, so that its id is not reused
            self._stand_ins[id(value)] = self._guarded(value, name)
            self._stand_ins[id(self._stand_ins[id(value)])] = self._stand_ins[id(value)]
        return self._stand_ins[id(value)]

    def _guarded(self, value: Any, name: str) -> Any:
        if isinstance(value, type):  # the class itself stays, so that `isinstance` works
            for method, held in list(vars(value).items()):
                if isinstance(held, FunctionType) and method not in UNGUARDED_METHODS:
                    setattr(value, method, self._function(held, name, method))
            return value
        return self._function(value, name) if callable(value) else value

    def _function(self, original: Any, name: str, method: str = "") -> Callable[..., Any]:
        called = name if method in ("", "__init__") else ""  # the caller's code must use this name

        def instead(*args: Any, **kwargs: Any) -> Any:
            if not self._is_torchs_own_call(sys._getframe(1), called):
                self._refuse(name)
            return original(*args, **kwargs)

        self._codes |= set(_codes(original))
        functools.update_wrapper(instead, original)
        del instead.__wrapped__  # type: ignore[attr-defined]  # it would hand out the original
        return instead

    def _is_torchs_own_call(self, frame: FrameType | None, name: str) -> bool:
        """Whether a part of torch that is allowed makes this call, by name and for its own ends."""
        frames = [one for one in outwards(frame) if one.f_code.co_filename != __file__]
        if name and not (frames and name in frames[0].f_code.co_names):
            return False
        for one in frames:
            module = self._owner(one)
            if not module:
                return False
            root = one.f_code.co_qualname.partition(".")[0]
            is_user = one is frames[0] or module.startswith("torch.nn.")
            if is_user and root not in self._names and root not in GENERIC_CLASSES:
                return True
        return False

    def _owner(self, frame: FrameType) -> str:
        """Return the module of torch or of ours whose own code a frame runs; empty for other code.

        The frame's own claim is not enough: code that a submission compiles may name any module,
        and be stored in any.
        """
        name = str(frame.f_globals.get("__name__"))
        held = _loaded.get(name)
        if held is None or held.now is not frame.f_globals:
            return ""
        first, *rest = frame.f_code.co_qualname.split(".")
        found = held.first.get(first)
        for part in rest:
            found = vars(found).get(part) if isinstance(found, type) else None
        return name if frame.f_code in self._codes or frame.f_code in _codes(found) else ""

    def _take_operations(self, patterns: tuple[str, ...]) -> None:
        """Refuse operations in torch's dispatcher, through which every call of them goes."""
        wanted = _matching(operations(), patterns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that kernels are replaced
            for whole in [whole for name in wanted for whole in operations()[name]]:
                space, _, name = whole.partition("::")
                if space not in self._libraries:
                    library = _dispatch_library("IMPL", space, "", __file__)
                    self._libraries[space] = library
                refuse = functools.partial(self._refuse_call, name.partition(".")[0])
                for key in DISPATCH_KEYS:
                    if torch._C._dispatch_has_kernel_for_dispatch_key(whole, key):
                        self._libraries[space].impl(name, key, refuse)

    def _refuse_call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        self._refuse(name)

    def _refuse(self, name: str) -> None:
        frames = outwards(sys._getframe(1))
        lines = (one.f_lineno for one in frames if one.f_code.co_filename == self._filename)
        line = next(lines, 0)
        self.broken = self.broken or responses.Forbidden(name=name, line=line)
        raise ForbiddenUse(f"this exercise forbids `{name}`")


def _hook_torch_imports(look: Callable[[str, dict[str, Any]], None]) -> None:
    """Have ``look`` called each time that Python has run a file of torch as a module.

    The files of ``EMPTIED_MODULES`` are not run: torch imports them, and what it then calls fails.

    ``look`` gets the name that the file's path gives, whatever the module calls itself, and the
    names in the module. It may replace these before an import hands them out.
    """
    run = SourceFileLoader.exec_module
    folder = torch.__path__[0]

    def run_and_look(loader: Any, module: ModuleType) -> None:
        if not (path := str(loader.path)).startswith(folder):
            return run(loader, module)
        name = path.removeprefix(folder).removesuffix(".py").removesuffix("/__init__")
        name = "torch" + name.replace("/", ".")
        if name not in EMPTIED_MODULES:
            run(loader, module)
        return look(name, vars(module))

    SourceFileLoader.exec_module = run_and_look  # type: ignore[method-assign, assignment]


def _matching(names: Iterable[str], patterns: Sequence[str]) -> set[str]:
    return {name for one in patterns for name in fnmatch.filter(names, one)}


def _replace_decomposition(original: Any, instead: Any) -> None:
    """Replace a function in torch's tables of decompositions."""
    tables = vars(sys.modules.get("torch._decomp", torch)).get("global_decomposition_table", {})
    for table in tables.values():
        for operation in [one for one, held in table.items() if held is original]:
            table[operation] = instead


class _ModuleNames(NamedTuple):
    """The names and values of a module: now, and when the module was first looked at."""

    now: dict[str, Any]
    first: dict[str, Any]


_loaded: dict[str, _ModuleNames] = {}


def loaded_modules() -> dict[str, _ModuleNames]:
    """Return the loaded modules of torch and of ours by name; record new ones as they are now."""
    for name in sys.modules.keys() - _loaded.keys():
        module = sys.modules[name]
        if name.partition(".")[0] in ("torch", "grader") and isinstance(module, ModuleType):
            _loaded[name] = _ModuleNames(vars(module), dict(vars(module)))
    return _loaded


@functools.cache
def operations() -> dict[str, list[str]]:
    """Return the operations of torch's dispatcher: their overloads by name in lower case."""
    found: dict[str, list[str]] = {}
    for whole in torch._C._dispatch_get_all_op_names():
        found.setdefault(whole.partition("::")[2].partition(".")[0].lower(), []).append(whole)
    return found


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame, then those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _codes(function: Any) -> Iterator[CodeType]:
    """Yield the code objects of a function, and of the functions that it wraps."""
    while function is not None:
        if isinstance(code := getattr(function, "__code__", None), CodeType):
            yield code
        function = getattr(function, "__wrapped__", None)
