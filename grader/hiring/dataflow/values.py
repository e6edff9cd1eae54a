"""Values of a program that is read, not run: where each comes from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

ITEM, KEYWORD = "item", "keyword"
MAX_HANDED_ON = 8  # times within one another that a value only hands another on
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A value: given from outside, or made of others by an operation.

    Attributes:
        what: The operation; of what is given the contract's name, the number, or ``V`` for a name
            that the author chose.
        inputs: The values that the operation takes.
        kind: ``ITEM`` for one of several that come together, ``KEYWORD`` for an argument that is
            given by name, else empty. Both only hand a value on.
        first: The line on which the operation begins; 0 for what is given.
        last: The line on which it ends.
    """

    what: str
    inputs: tuple[Value, ...] = ()
    kind: str = ""
    first: int = 0
    last: int = 0

    @property
    def is_made(self) -> bool:
        """Whether an operation makes the value, which then says something of its author."""
        return bool(self.inputs) and not self.kind

    def describe(self, depth: int, handed_on: int = MAX_HANDED_ON) -> str:
        """Return the operation, and those that made what it takes, so many steps back."""
        if self.kind:
            inner = self.inputs[0].describe(depth, handed_on - 1) if handed_on else ""
            return f"{self.what}{inner}" if self.kind == KEYWORD else f"{inner}{self.what}"
        if depth == 0 or not self.inputs:
            return self.what
        return f"{self.what}({', '.join(one.describe(depth - 1) for one in self.inputs)})"


class Names(dict[str, "Known"]):
    """The names of a function, then those of what is around it."""

    def __init__(self, around: Names | None = None) -> None:
        super().__init__()
        self.around = around
        self.outer: set[str] = set()  # names that are those of what is around, as a function says

    def __setitem__(self, name: str, known: Known) -> None:
        """Let a name stand for something: here, or where it was first."""
        if name in self.outer and self.around is not None:
            outer = self.around
            while name not in outer and outer.around is not None:
                outer = outer.around
            outer[name] = known
        else:
            super().__setitem__(name, known)

    def find(self, name: str) -> Known | None:
        """Return what a name stands for; None if nobody has said."""
        names: Names | None = self
        while names is not None:
            if name in names:
                return names[name]
            names = names.around
        return None

    def swap(self, other: dict[str, Known]) -> dict[str, Known]:
        """Put other names in the place of these, which are returned."""
        mine = dict(self)
        self.clear()
        self.update(other)
        return mine


@dataclass(frozen=True, eq=False)
class Function:
    """A function that the submission defines, with the names around it.

    Attributes:
        owner: The object whose method it is; None for a plain function.
    """

    node: Definition
    around: Names
    owner: Instance | None = None


@dataclass(frozen=True, eq=False)
class Instance:
    """What ``self`` stands for: an object of a class that the submission defines."""

    methods: dict[str, ast.FunctionDef]
    attributes: dict[str, Known] = field(default_factory=dict)


Known = Value | Function | Instance


def reachable(roots: Iterable[Value]) -> Iterator[Value]:
    """Yield each value that the roots are made of, once, themselves included."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            waiting.extend(value.inputs)
