"""Submissions with planted mistakes: the pipeline itself, written out as a learner's file."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from grader.attention import layout, steps
from grader.attention.contract import AttentionContract
from grader.attention.observe import find_mistakes
from grader.diagnosis.catalogue import Explanation, Mistake
from grader.kit import Exercise
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.submission import Submission
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.reuse import load_suite

MODULES = {
    "grader.attention": "",
    "grader.attention.layout": inspect.getsource(layout),
    **{
        f"grader.attention.steps.{name}": inspect.getsource(getattr(steps, name))
        for name in (
            *("state", "projection", "heads", "scores", "masks"),
            *("weighing", "mixing", "block", "live"),
        )
    },
}
PIPELINE_SOURCE = """
import sys
from dataclasses import replace
from types import ModuleType

import torch
from torch import nn

for name, source in {modules!r}.items():
    sys.modules[name] = ModuleType(name)
    exec(compile(source, name, "exec"), sys.modules[name].__dict__)

WeightLayout = sys.modules["grader.attention.layout"].WeightLayout
LAYOUT, CHOICES = WeightLayout(**{layout!r}), {choices!r}
step_runner = sys.modules["grader.attention.steps.live"].step_runner


class Attention(nn.Module):
    def __init__(self, layout, C, E, H, rate, bias):
        super().__init__()
        if C % H:
            raise ValueError(f"{{H}} heads do not divide {{C}} features")
        self.layout, self.H, self.rate = layout, H, rate
        for name in (layout.queries, layout.keys, layout.values):
            if name:
                made = nn.Parameter(torch.randn(C, E)) if layout.bare else nn.Linear(C, E, bias)
                setattr(self, name, made)
        if layout.fused:
            setattr(self, layout.fused, nn.Linear(C, 3 * C, bias))
        if layout.output:
            setattr(self, layout.output, nn.Linear(C, C, bias))

    def run(self, x, attention_mask=None):
        weights = dict(self.named_parameters())
        given = dict(num_heads=self.H, dropout_rate=self.rate)
        return step_runner(self.layout, CHOICES)(weights, x, attention_mask, given, self.training)


class Module(Attention):
    def __init__(self, **given):
        C = next(given[n] for n in ("hidden_dim", "embed_dim", "d_model", "d_in") if n in given)
        inner = replace(LAYOUT, block=False)
        settings = (C, given.get("d_out", C), given.get("num_heads", 1))
        rate, bias = given.get("dropout_rate", 0.1), given.get("qkv_bias", LAYOUT.bias)
        if LAYOUT.block:
            nn.Module.__init__(self)
            self.layout, self.H, self.rate = LAYOUT, given["num_heads"], 0.0
            self.attention = Attention(inner, *settings, rate, bias)
            self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)
            self.ff = nn.Sequential(nn.Linear(C, 4 * C), nn.ReLU(), nn.Linear(4 * C, C))
        else:
            super().__init__(inner, *settings, rate, bias)

    def forward(self, x, attention_mask=None):
        return self.run(x, attention_mask).out

    def intermediates(self, x):
        s = self.run(x)
        names = dict(q=s.q, k=s.k, v=s.v, similarities=s.unscaled, scaled=s.scores)
        names |= dict(weights=s.attention)
        found = {{n: v.reshape(*x.shape[:-1], v.size(-1)) for n, v in names.items()}}
        return found | dict(output=s.out)


class {name}(Module):
    def __init__(self, {arguments}):
        super().__init__({keywords})
"""
FUNCTION_SOURCE = """

def {name}(x):
    return step_runner(LAYOUT, CHOICES)({{}}, x, None, {{}}, False).out
"""
INNER_CLASS_SOURCE = """

class MultiHeadSelfAttention(Attention):
    def __init__(self, embed_dim, num_heads):
        inner = replace(LAYOUT, block=False)
        super().__init__(inner, embed_dim, embed_dim, num_heads, 0.0, LAYOUT.bias)

    def forward(self, x):
        return self.run(x).out
"""
ARGUMENTS = {
    "hidden_dim": "hidden_dim",
    "dropout_rate": "dropout_rate=0.1",
    "embed_dim": "embed_dim",
    "num_heads": "num_heads",
    "d_in": "d_in",
    "d_out": "d_out",
    "d_model": "d_model=2, row_dim=0, col_dim=1",
}


def contract_of(exercise: Exercise) -> AttentionContract:
    """The contract that an exercise's suite defines."""
    found: AttentionContract = load_suite(str(exercise.suite), exercise.suite.name).contract
    return found


def explained(submission: Submission, contract: AttentionContract, sandbox: Sandbox) -> Explanation:
    """Which mistakes reproduce a submission, found without its suite; none where it cannot run."""
    session = Session(sandbox, submission, 10.0, 60.0)
    try:
        session.begin_check(1)
        return find_mistakes(Harness(contract, session, Draw(1), {}))
    except (SubmissionError, SubmissionRefused):
        return Explanation((), (), ())
    finally:
        session.close()


def planted(
    exercise: Exercise, contract: AttentionContract, mistakes: Sequence[Mistake]
) -> Submission:
    """A file for an exercise that makes these mistakes and no others."""
    assert contract.layout is not None
    choices = {mistake.step: mistake.choice for mistake in mistakes}
    given = list(contract.arguments(contract.sizes[0]))
    names = [name for name in given if name in ARGUMENTS]
    arguments = ", ".join(ARGUMENTS[name] for name in names)
    if exercise.name == "warmup3":
        arguments, names = f"{arguments}, qkv_bias=False", [*names, "qkv_bias"]
    text = PIPELINE_SOURCE.format(
        modules=MODULES,
        layout=asdict(contract.layout),
        choices=choices,
        name=contract.entry if contract.parameters else "Unused",
        arguments=arguments or "hidden_dim",
        keywords=", ".join(f"{name}={name}" for name in names),
    )
    if contract.parameters is None:
        text += FUNCTION_SOURCE.format(name=contract.entry)
    if contract.inner is not None:
        text += INNER_CLASS_SOURCE
    return Submission(Path(f"{exercise.name}.py"), text)
