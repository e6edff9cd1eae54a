"""How a module that is not quite that of its contract is tried all the same.

What costs a check of its own (parameters of other names, a bias too many or too few, a default that
is missing) would make every other check fail by it. So it is made up for, and they are judged.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.session import Session
from grader.suite.contract import Contract, Sizes

Shapes = Mapping[str, tuple[int, ...]]
BIAS = ".bias"


@dataclass(frozen=True)
class Fit:
    """What a module has in the place of what its contract says.

    Attributes:
        names: Its own names of parameters, by those of the contract, where they are others.
        surplus: Biases of layers of the contract that have none there: they are set to zero.
        missing: Biases of the contract that its layers do not have: what is right has zeros there.
        needed: Arguments of the constructor that have no default, though the contract has one.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    surplus: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()

    def own(self, name: str) -> str:
        """The module's own name of a parameter."""
        return self.names.get(name, name)

    def there(self, names: Iterable[str]) -> list[str]:
        """Those of the contract's names that the module has a parameter for."""
        return [name for name in names if name not in self.missing]


AS_IT_SHOULD_BE = Fit()


def fit_of(contract: Contract, session: Session) -> Fit:
    """How a submission's module fits; it is made for this, once with its defaults left out."""
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
        return AS_IT_SHOULD_BE  # nothing is made up for: whoever makes one is told
    try:
        _ = made.answered
        needed: frozenset[str] = frozenset()
    except (SubmissionError, SubmissionRefused):
        needed = frozenset(contract.defaults)
    wanted = contract.parameters(sizes)
    names = renamed(wanted, found)
    missing = without_bias(wanted, {**found, **names})
    return Fit(names, surplus(wanted, found), missing, needed)


def renamed(wanted: Shapes, found: Shapes) -> dict[str, str]:
    """Own names by those of the contract, where as many of the same shapes are there."""
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    alike = [wanted[name] for name in missing] == [found[name] for name in extra]
    return dict(zip(missing, extra, strict=True)) if alike else {}


def surplus(wanted: Shapes, found: Shapes) -> tuple[str, ...]:
    """Biases of layers that have none in the contract."""
    return tuple(
        name
        for name, shape in found.items()
        if name not in wanted
        and name.endswith(BIAS)
        and (weight := wanted.get(_weight_of(name))) is not None
        and shape == weight[:1]
    )


def without_bias(wanted: Iterable[str], found: Container[str]) -> frozenset[str]:
    """Biases that layers have in the contract alone."""
    return frozenset(
        name
        for name in wanted
        if name not in found and name.endswith(BIAS) and _weight_of(name) in found
    )


def zeros_of(names: tuple[str, ...], contract: Contract, sizes: Sizes) -> dict[str, int]:
    """How many numbers each of these biases has at some sizes."""
    shapes = contract.parameters(sizes) if contract.parameters else {}
    return {name: shapes[_weight_of(name)][0] for name in names}


def _weight_of(bias: str) -> str:
    return f"{bias.removesuffix(BIAS)}.weight"


def likely(wanted: Shapes, found: Shapes, arguments: Mapping[str, Any]) -> str:
    """What is likely the reason for parameters that are missing or too many; empty where none."""
    for own in renamed(wanted, found).values():
        return f"it seems to be registered under another name: `{own}`"
    passed = next((name for name in arguments if name.endswith("bias")), "")
    if surplus(wanted, found):
        return f"pass `bias={passed}` on to the layer" if passed else "make the layer `bias=False`"
    missing = [name for name in wanted if name not in found]
    if missing and all(name.endswith(BIAS) for name in missing):
        return f"pass `bias={passed}` on to the layer" if passed else "its layer has no bias"
    return ""
