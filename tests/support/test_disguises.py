"""A disguised copy does what its original does: only then is it worth finding."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from benchmarks.people import STUB, Person
from tests.support.disguises import WAYS, disguise
from tests.support.independent import answers, solution_of, stub_of

ARGUMENTS = {"exercise3": (6,), "exercise5": (6, 3), "decoder3": (6, 3)}
NOT_ALONE = {"right_unusual_file"}  # looks for its own file


def outcome(source: str, name: str) -> Tensor:
    """What the class of an answer gives, with weights that are drawn by their names."""
    found: dict[str, type[nn.Module]] = {"__name__": torch.__name__}  # where dataclasses look
    exec(source, found)
    torch.manual_seed(0)
    (wanted,) = (key for key in found if f"class {key}(" in stub_of(name))
    module = found[wanted](*ARGUMENTS[name]).eval()
    with torch.no_grad():
        for key, weight in sorted(module.named_parameters()):
            weight.copy_(
                torch.randn(weight.shape, generator=torch.Generator().manual_seed(len(key)))
            )
        return module(torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("ways", [("structure",), ("structure", "names", "order", "dead code")])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_disguised_answer_gives_the_same(
    name: str, ways: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [one for key, one in answers(name).items() if key not in NOT_ALONE]
    for number, source in enumerate(sources):
        copy = disguise(source, stub_of(name), number, *ways)
        torch.testing.assert_close(outcome(copy, name), outcome(source, name), msg=copy)


def test_disguised_person_gives_the_same() -> None:
    for number in range(40):
        source = Person(number).file()
        copy = disguise(source, STUB, number, *WAYS)
        torch.testing.assert_close(outcome(copy, "exercise3"), outcome(source, "exercise3"))


def test_every_part_of_a_disguise_is_seen() -> None:
    source, stub = solution_of("decoder3"), stub_of("decoder3")
    copies = [disguise(source, stub, seed, "structure") for seed in range(20)]
    assert len(set(copies)) == 20
    assert any(copy.count("def ") > source.count("def ") for copy in copies)
    loop = "def mix(x):\n    made = [one + 1 for one in x]\n    return made\n"
    assert any("for one in x:" in disguise(loop, "", seed, "structure") for seed in range(9))
    appended = (
        "def mix(x):\n    made = []\n    for one in x:\n        made.append(one)\n    return made\n"
    )
    assert any("[one for one in x]" in disguise(appended, "", s, "structure") for s in range(9))
    helper = "def half(x):\n    return x / 2\n\ndef mix(x):\n    return half(x) + 1\n"
    assert all("def half" not in disguise(helper, "", seed, "structure") for seed in range(9))
    methods = "class A:\n    def b(self): ...\n    def c(self): ...\n    def d(self): ...\n"
    orders = {
        tuple(disguise(methods, "", s, "order").index(f"def {m}") for m in "bcd") for s in range(9)
    }
    assert any(one > other for order in orders for one, other in pairwise(order))
