"""Compensates for a module's small deviations from its contract, to try it all the same.

Some deviations cost a check of their own: parameters of other names, a bias too many or too few, a
missing default. They would fail every other check too, so they are compensated for in those.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.replies import Parameter
from grader.sandbox.session import Session
from grader.suite.contract import Contract

Shapes = Mapping[str, tuple[int, ...]]
BIAS = ".bias"
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Deviations:
    """The deviations of a module from its contract that are compensated for.

    Where a module has blocks, however many, those that were not looked at deviate as the first.

    Attributes:
        looked_at: The contract's names of the parameters that were looked at.
        names: The module's name of each parameter that is named otherwise, by the contract's name.
        surplus: Biases of layers that have none in the contract, by the name of the layer's weight;
            they are set to zero.
        missing: Biases of the contract that the module lacks; the oracle takes them as zeros.
        needed: Constructor arguments without a default, though the contract has one.
    """

    looked_at: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    surplus: Mapping[str, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()

    def own_name(self, name: str) -> str:
        """Return the module's own name of a parameter."""
        like = self._like(name)
        own = self.names.get(like, like)
        return own if like == name else _numbered(own, name)

    def lacks(self, name: str) -> bool:
        """Return whether the module has no such bias, though the contract has."""
        return self._like(name) in self.missing

    def present(self, names: Iterable[str]) -> list[str]:
        """Return those of the contract's names that the module has a parameter for."""
        return [name for name in names if not self.lacks(name)]

    def surplus_sizes(self, shapes: Shapes) -> dict[str, int]:
        """Return how many numbers each surplus bias has, by name.

        Args:
            shapes: Shapes of the contract's parameters, by name.
        """
        sizes = {}
        for name, shape in shapes.items():
            if bias := self.surplus.get(like := self._like(name)):
                sizes[bias if like == name else _numbered(bias, name)] = shape[0]
        return sizes

    def _like(self, name: str) -> str:
        """Return the name of the parameter that was looked at in the place of this one."""
        if not self.looked_at or name in self.looked_at:
            return name
        return NUMBER.sub("0", name)


NO_DEVIATIONS = Deviations()


def find_deviations(contract: Contract, session: Session) -> Deviations:
    """Construct a submission's module, with and without optional arguments; return its deviations.

    A module whose construction fails counts as one without deviations.
    """
    assert contract.parameters is not None
    sizes = contract.sizes[0]
    arguments, batch = contract.arguments(sizes), session.batch()
    short = {name: value for name, value in arguments.items() if name not in contract.defaults}
    with batch.apart():
        whole = batch.create(contract.entry, (), arguments)
    with batch.apart():
        made = batch.create(contract.entry, (), short)
    batch.send()
    wanted = contract.parameters(sizes)
    try:
        found = shapes_without_aliases(whole.parameters, wanted)
    except (SubmissionError, SubmissionRefused):
        return NO_DEVIATIONS  # compensate for nothing: a check that needs the module raises this
    try:
        _ = made.answered
        needed: frozenset[str] = frozenset()
    except (SubmissionError, SubmissionRefused):
        needed = frozenset(contract.defaults)
    names = renamed_parameters(wanted, found)
    missing = missing_biases(wanted, {**found, **names})
    aliases = {name: one.same_as for name, one in whole.parameters.items()}
    return Deviations(frozenset(wanted), names, surplus(wanted, found, aliases), missing, needed)


def shapes_without_aliases(found: Mapping[str, Parameter], wanted: Container[str]) -> Shapes:
    """Return the shapes of a module's parameters, each once: by the wanted name if it has one."""
    taken = {one.same_as for name, one in found.items() if name in wanted}
    return {
        name: one.shape
        for name, one in found.items()
        if name in wanted or (one.same_as == name and name not in taken)
    }


def renamed_parameters(wanted: Shapes, found: Shapes) -> dict[str, str]:
    """Return the module's name of each of the contract's parameters that was renamed.

    Missing and unexpected parameters of each shape are paired in order; {} if their numbers differ.

    Args:
        wanted: Shapes of the contract's parameters, by name.
        found: Shapes of the module's parameters, by name.
    """
    missing = sorted((name for name in wanted if name not in found), key=lambda name: wanted[name])
    extra = sorted((name for name in found if name not in wanted), key=lambda name: found[name])
    alike = [wanted[name] for name in missing] == [found[name] for name in extra]
    return dict(zip(missing, extra, strict=True)) if alike else {}


def surplus(
    wanted: Shapes, found: Shapes, aliases: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the module's biases of layers that have no bias in the contract, by the weight's name.

    Args:
        wanted: Shapes of the contract's parameters, by name.
        found: Shapes of the module's parameters, by name.
        aliases: The first name of each of the module's parameters, by any name.
    """
    biases = {}
    for name, shape in found.items():
        weight = _weight_of(name)
        weight = weight if weight in wanted else (aliases or {}).get(weight, weight)
        if name.endswith(BIAS) and name not in wanted and shape == wanted.get(weight, ())[:1]:
            biases[weight] = name
    return biases


def missing_biases(wanted: Iterable[str], found: Container[str]) -> frozenset[str]:
    """Return the contract's biases, by name, of layers that have no bias in the module."""
    return frozenset(
        name
        for name in wanted
        if name not in found and name.endswith(BIAS) and _weight_of(name) in found
    )


def _weight_of(bias: str) -> str:
    return f"{bias.removesuffix(BIAS)}.weight"


def _numbered(name: str, like: str) -> str:
    """Return a name with the numbers of another one."""
    numbers = iter(NUMBER.findall(like))
    return NUMBER.sub(lambda found: next(numbers, found[0]), name)


def likely_reason(wanted: Shapes, found: Shapes, arguments: Mapping[str, Any]) -> str:
    """Return the likely reason for the first missing or surplus parameter; empty if none is."""
    renamed = renamed_parameters(wanted, found)
    if own := next((renamed[name] for name in wanted if name in renamed), ""):
        return f"it seems to be registered under another name: `{own}`"
    passed = next((name for name in arguments if name.endswith("bias")), "")
    if surplus(wanted, found):
        return f"pass `bias={passed}` on to the layer" if passed else "make the layer `bias=False`"
    missing = [name for name in wanted if name not in found]
    if missing and all(name.endswith(BIAS) for name in missing):
        return f"pass `bias={passed}` on to the layer" if passed else "its layer has no bias"
    return ""
