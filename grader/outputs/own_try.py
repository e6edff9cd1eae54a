"""A submission's output for an input that the learner chose, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.padding import Padding
from rich.text import Text

from grader.languages import say
from grader.outputs.hanging_line import INDENT, HangingLine
from grader.outputs.sanitise import clean
from grader.outputs.terminal import Renderable, render_maps
from grader.records import OwnTry
from grader.records.own_try import Numbers

MAX_PARAMETER_NUMBERS = 48  # of a parameter with more, only the shape is shown
MAX_VALUE_NUMBERS = 200  # of an input or output with more, only the corners are shown
DECIMALS = 4


def render_own_try(tried: OwnTry, seed: int) -> Iterator[Renderable]:
    """Yield the call, its inputs, its outputs beside the right ones, and the attention maps."""
    yield Text(say(f"  {tried.made}, in evaluation; seed {seed} draws the weights"))
    for name, value in tried.given.items():
        yield from _numbers(name, value)
    for name, value in tried.weights.items():
        if np.size(value) <= MAX_PARAMETER_NUMBERS:
            yield from _numbers(name, value)
        else:
            yield Text(f"  {name} {np.shape(value)}", "dim")
    for one in tried.maps:
        name = say(f"weights {one.title}")
        yield from _beside(name, one.yours, one.right) if one.wrong else _numbers(name, one.right)
    yield from render_maps(tried.maps)
    for name, value in tried.right.items():
        if name not in tried.wrong:
            yield from _numbers(name, value)
        elif name in tried.yours:
            yield from _beside(name, tried.yours[name], value)
    for wrong in tried.wrong.values():
        yield Text(f"  {say(clean(wrong))}", "bold red")
    if not tried.wrong:
        yield Text(f"  {say('as it should be')}", "bold green")


def render_failure(message: str) -> Iterator[HangingLine]:
    """Yield why there is no output, as other errors are shown; no line of it looks like ours."""
    first, *more = clean(say(message)).split("\n")
    yield HangingLine(f"grade: {first}")
    yield from [HangingLine(line, indent=INDENT) for line in more]


def _beside(name: str, yours: Numbers, right: Numbers) -> Iterator[Renderable]:
    yield from _numbers(f"{name}, {say('yours')}", yours)
    yield from _numbers(f"{name}, {say('right')}", right)


def _numbers(name: str, value: Numbers) -> Iterator[Renderable]:
    yield Text(f"  {name} {np.shape(value)}", "bold")
    shown = np.array2string(
        (np.asarray(value) + 0).round(DECIMALS) + 0,  # turns -0 into 0 and True into 1
        precision=DECIMALS,
        suppress_small=True,
        threshold=MAX_VALUE_NUMBERS,
        floatmode="fixed" if _has_fractions(value) else "maxprec",
    )
    yield Padding(Text(shown), (0, 0, 0, 4), expand=False)


def _has_fractions(value: Numbers) -> bool:
    array = np.asarray(value)
    return array.dtype.kind == "f" and bool((array != np.round(array)).any())
