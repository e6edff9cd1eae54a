"""What sizes are among the situations of every grading, and what a request of them weighs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.attention.situations.filling import AttentionSituation
from grader.kit import installed_kit
from grader.sandbox.session import Session
from grader.suite import Draw, Harness, load_suite
from grader.suite.situations.agenda import SITUATIONS_PER_REQUEST
from grader.suite.situations.places import situations_of
from grader.suite.situations.situation import Situation
from grader.wire.frames import MAX_BODY_BYTES

SEEDS = (3, 5)
Situations = Callable[[str, int], list[Situation]]


@pytest.fixture
def situations(begin: Callable[[str], Session]) -> Situations:
    """Gives those of an exercise at a seed; nobody is tried."""
    session = begin("")

    def made(name: str, seed: int) -> list[Situation]:
        suite = load_suite(str(path := installed_kit().find(name).suite), path.name)
        contract = getattr(suite, "rotation", None) or vars(suite)["contract"]
        return list(situations_of(Harness(contract, session, Draw(seed), {}, seed=seed)))

    return made


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["warmup1", "warmup3", "exercise1", "exercise5", "exercise6"])
def test_each_grading_has_many_features_and_many_sequences(
    name: str, seed: int, situations: Situations
) -> None:
    sizes = [one.sizes for one in situations(name, seed)]
    assert any(max(one.C, one.get("E", 0)) >= 130 for one in sizes)
    assert any(one.B > 8 and one.B % 8 for one in sizes)
    assert any(one.B * one.get("H", 1) * one.T**2 > 2**18 for one in sizes)
    assert any(one.B > 64 for one in sizes)
    assert any(one.B == 16 for one in sizes)
    assert any(one.B * one.T > 2048 and one.B * one.T**2 > 2**19 for one in sizes)
    assert any(one.T == 192 for one in sizes)


@pytest.mark.parametrize("name", ["warmup2", "exercise1", "decoder5"])
def test_where_layers_are_few_there_are_above_a_thousand_features(
    name: str, situations: Situations
) -> None:
    sizes = [one.sizes for one in situations(name, SEEDS[0])]
    assert any(max(one.C, one.get("E", 0)) > 1024 for one in sizes)


@pytest.mark.parametrize("name", ["exercise3", "decoder8"])
def test_products_in_bfloat16_are_small(name: str, situations: Situations) -> None:
    for one in [one for seed in (1, *SEEDS) for one in situations(name, seed)]:
        weights = sum(weight.numel() for weight in one.weights.values())
        assert one.dtype != torch.bfloat16 or weights * one.sizes.B * one.sizes.T < 5e6


@pytest.mark.parametrize("name", ["exercise5", "exercise6", "decoder1"])
def test_more_than_eight_heads_have_several_features(name: str, situations: Situations) -> None:
    sizes = [one.sizes for one in situations(name, SEEDS[0])]
    assert any(one.H > 8 and one.C > one.H for one in sizes)


@pytest.mark.parametrize("seed", SEEDS)
def test_much_is_dropped_in_a_long_sequence_that_learns(seed: int, situations: Situations) -> None:
    dropping = [one for one in situations("exercise4", seed) if isinstance(one, AttentionSituation)]
    assert any(one.drops and one.sizes.T > 128 and one.wants_gradients for one in dropping)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_weights_are_dropped_where_no_constant_is_rounded(
    seed: int, situations: Situations
) -> None:
    dropping = [one for one in situations("exercise3", seed) if isinstance(one, AttentionSituation)]
    exact = [one for one in dropping if one.drops_exactly and one.dtype == torch.float64]
    assert any(one.row["x"] == "ordinary" for one in exact)


@pytest.mark.parametrize("name", ["decoder3", "decoder5", "exercise2", "exercise6", "warmup3"])
def test_situations_of_a_request_fit_into_it(name: str, situations: Situations) -> None:
    weights = [weight_of(one) for one in situations(name, 1404757092)]
    for start in range(0, len(weights), SITUATIONS_PER_REQUEST):
        assert sum(weights[start : start + SITUATIONS_PER_REQUEST]) < MAX_BODY_BYTES / 2


def weight_of(one: Situation) -> int:
    """The bytes of what it may send."""
    given = (
        one.inputs,
        one.other_inputs,
        one.earlier_inputs,
        one.weights,
        one.other_weights,
        one.grad_outputs,
    )
    tensors = [tensor for part in given for tensor in part.values() if tensor is not None]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
