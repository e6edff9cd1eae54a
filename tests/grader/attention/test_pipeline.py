"""What a pipeline has computed serves every later search that begins from the same inputs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grader.attention import pipeline
from grader.attention.layout import WeightLayout
from grader.attention.pipeline import Observation, Pipeline
from grader.attention.search import Search

FORM = WeightLayout("query", "key", "value")
WRONG = {"scale": "never"}


@pytest.fixture(autouse=True)
def _empty_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_shared_pipelines", [])


def observation() -> Observation:
    draw = torch.Generator().manual_seed(0)
    shape = (5, 5)
    names = ("query.weight", "key.weight", "value.weight")
    return Observation(
        call_kind="output",
        layout=FORM,
        weights={name: torch.randn(shape, generator=draw).double() for name in names},
        x=torch.randn(2, 4, 5, generator=draw).double(),
        attention_mask=None,
        heads=1,
        training=False,
        rate=0.0,
        seed=3,
        output=torch.zeros(2, 4, 5).double(),
    )


def test_same_inputs_give_the_same_pipeline_whatever_came_of_them() -> None:
    seen = observation()
    other = replace(observation(), output=torch.ones(2, 4, 5).double())
    assert Pipeline.shared(seen) is Pipeline.shared(other)


@pytest.mark.parametrize(
    "change",
    [
        {"x": torch.zeros(2, 4, 5).double()},
        {"attention_mask": torch.ones(4, 4)},
        {"heads": 2},
        {"training": True},
        {"rate": 0.3},
        {"seed": 4},
        {"layout": WeightLayout("query", "key", "value", scaled=False)},
        {"grad_output": torch.ones(2, 4, 5).double()},
        {"weights": observation().weights | {"key.weight": torch.eye(5).double()}},
        {"weights": observation().weights | {"bias": torch.eye(5).double()}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_inputs_give_another_pipeline(change: dict[str, object]) -> None:
    seen = observation()
    changed = replace(seen, **change)  # type: ignore[arg-type]  # of every kind
    assert Pipeline.shared(changed) is not Pipeline.shared(seen)


def test_another_hiding_gives_another_pipeline() -> None:
    seen = observation()
    assert Pipeline.shared(seen, -1e9) is not Pipeline.shared(seen)


def test_searches_that_share_a_pipeline_come_to_their_own_ends() -> None:
    seen = observation()
    right, unscaled = (Pipeline(seen).output(plan) for plan in ({}, WRONG))
    assert right is not None
    assert unscaled is not None
    found = [
        Search(FORM, [replace(seen, output=out)]).run().sets
        for out in (right, unscaled, right, torch.randn_like(right))
    ]
    names = [[mistake.name for mistakes in sets for mistake in mistakes] for sets in found]
    assert names[0] == names[2] == []
    assert found[0] == ((),)
    assert len(names[1]) == 1
    assert found[3] == ()
    assert len(pipeline._shared_pipelines) == 1


def test_pool_is_emptied_when_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "MAX_CACHED_STATES", 80)
    for number in range(20):
        Pipeline.shared(replace(observation(), seed=number)).output(WRONG)
        assert sum(1 + known._cached_states for known in pipeline._shared_pipelines) < 80 + 40
