"""Compensates for a module's small deviations from its contract, to try it all the same.

Some deviations cost a check of their own: parameters of other names, a bias too many or too few, a
missing default. They would fail every other check too, so they are compensated for in those.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.session import Session
from grader.suite.contract import Contract
from grader.suite.sizes import Sizes

Shapes = Mapping[str, tuple[int, ...]]
BIAS = ".bias"


@dataclass(frozen=True)
class Deviations:
    """The deviations of a module from its contract that are compensated for.

    Attributes:
        names: The module's name of each parameter that is named otherwise, by the contract's name.
        surplus: Biases of layers that have none in the contract; they are set to zero.
        missing: Biases of the contract that the module lacks; the oracle takes them as zeros.
        needed: Constructor arguments without a default, though the contract has one.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    surplus: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()

    def own_name(self, name: str) -> str:
        """Return the module's own name of a parameter."""
        return self.names.get(name, name)

    def present(self, names: Iterable[str]) -> list[str]:
        """Return those of the contract's names that the module has a parameter for."""
        return [name for name in names if name not in self.missing]


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
    try:
        found = {name: one.shape for name, one in whole.parameters.items()}
    except (SubmissionError, SubmissionRefused):
        return NO_DEVIATIONS  # compensate for nothing: a check that needs the module raises this
    try:
        _ = made.answered
        needed: frozenset[str] = frozenset()
    except (SubmissionError, SubmissionRefused):
        needed = frozenset(contract.defaults)
    wanted = contract.parameters(sizes)
    names = renamed_parameters(wanted, found)
    missing = missing_biases(wanted, {**found, **names})
    return Deviations(names, surplus(wanted, found), missing, needed)


def renamed_parameters(wanted: Shapes, found: Shapes) -> dict[str, str]:
    """Return the module's name of each of the contract's parameters that was renamed.

    Missing and unexpected parameters are paired in order if all their shapes agree; {} if not.

    Args:
        wanted: Shapes of the contract's parameters, by name.
        found: Shapes of the module's parameters, by name.
    """
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    alike = [wanted[name] for name in missing] == [found[name] for name in extra]
    return dict(zip(missing, extra, strict=True)) if alike else {}


def surplus(wanted: Shapes, found: Shapes) -> tuple[str, ...]:
    """Return the module's biases, by name, of layers that have no bias in the contract."""
    return tuple(
        name
        for name, shape in found.items()
        if name not in wanted
        and name.endswith(BIAS)
        and (weight := wanted.get(_weight_of(name))) is not None
        and shape == weight[:1]
    )


def missing_biases(wanted: Iterable[str], found: Container[str]) -> frozenset[str]:
    """Return the contract's biases, by name, of layers that have no bias in the module."""
    return frozenset(
        name
        for name in wanted
        if name not in found and name.endswith(BIAS) and _weight_of(name) in found
    )


def bias_sizes(names: tuple[str, ...], contract: Contract, sizes: Sizes) -> dict[str, int]:
    """Return how many numbers each of these biases has at given sizes, by its name."""
    shapes = contract.parameters(sizes) if contract.parameters else {}
    return {name: shapes[_weight_of(name)][0] for name in names}


def _weight_of(bias: str) -> str:
    return f"{bias.removesuffix(BIAS)}.weight"


def likely_reason(wanted: Shapes, found: Shapes, arguments: Mapping[str, Any]) -> str:
    """Return the likely reason for missing or surplus parameters; empty if none is likely."""
    for own in renamed_parameters(wanted, found).values():
        return f"it seems to be registered under another name: `{own}`"
    passed = next((name for name in arguments if name.endswith("bias")), "")
    if surplus(wanted, found):
        return f"pass `bias={passed}` on to the layer" if passed else "make the layer `bias=False`"
    missing = [name for name in wanted if name not in found]
    if missing and all(name.endswith(BIAS) for name in missing):
        return f"pass `bias={passed}` on to the layer" if passed else "its layer has no bias"
    return ""
