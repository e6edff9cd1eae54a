"""Every sentence of every stub has a check that holds it, and a wrong version that loses it."""

from __future__ import annotations

from grader.authoring.static_findings import contract_findings, kit_findings
from grader.kit import Exercise
from tests.kit.test_kit import KIT, each_exercise
from tests.support.sentences import table


@each_exercise
def test_every_sentence_is_held(exercise: Exercise) -> None:
    assert not list(contract_findings(KIT, exercise))


def test_what_is_shared_is_what_several_exercises_say() -> None:
    assert not list(kit_findings(KIT))


def test_table_has_each_sentence_beside_what_holds_it() -> None:
    lines = table("exercise3").splitlines()
    assert "None hides nothing." in lines
    assert any("test_mask_of_every_dtype" in line for line in lines)
