"""Answers that do nothing: a solution of which every output is replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterator

# What each returns in place of a right output, as an expression.
IDLE_OUTPUTS = {"zeros": "out*0", "not a number": "out*float('nan')"}
IDLE_SOURCE = """

import torch


def _idle(given):
    def call(*args, **kwargs):
        out = given(*args, **kwargs)
        whole = out if isinstance(out, tuple) else (out,)
        done = tuple({does} if isinstance(out, torch.Tensor) else out for out in whole)
        return done if isinstance(out, tuple) else done[0]
    return call


for _name in {names}:
    if isinstance(globals()[_name], type):
        globals()[_name].forward = _idle(globals()[_name].forward)
    else:
        globals()[_name] = _idle(globals()[_name])
"""


def idle_sources(right: str, entry_points: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what each answer gives, in words, and its source, which is made of a right one."""
    for what, does in IDLE_OUTPUTS.items():
        yield what, f"{right}{IDLE_SOURCE.format(does=does, names=tuple(entry_points))}"
